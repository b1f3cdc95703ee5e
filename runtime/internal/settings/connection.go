package settings

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/secure"
)

// Connection is what the .eo file says of the way to Kafka. The zero Connection says nothing.
type Connection struct {
	Brokers Setting // host:port, several with commas between
	TLS     TLS
	SASL    SASL
}

// TLS is the option tls of the .eo file.
type TLS struct {
	On            bool    // tls on; files turn it on as well
	CA, Cert, Key Setting // paths
}

// SASL is the option sasl of the .eo file.
type SASL struct {
	Mechanism string // as the language has it: plain, scram256, scram512, oauthbearer
	User      Setting
	Secret    string // name in secret("NAME"): the variable NAME, or NAME_FILE with a path
}

// The environment variables of secrets. They have no flags, since everybody can see the flags of a process.
const (
	passwordVariable = "EO_SASL_PASSWORD"
	tokenVariable    = "EO_SASL_TOKEN"
	fileSuffix       = "_FILE"
)

// mechanisms are the words for them, in the order of messages. Kafka's names are taken as well.
var mechanisms = []struct {
	word string
	name secure.Mechanism
}{
	{"plain", secure.Plain}, {"scram256", secure.Scram256}, {"scram512", secure.Scram512}, {"oauthbearer", secure.OAuthBearer},
}

// secretFlags are the flags that somebody will look for, with their variables.
var secretFlags = map[string]string{"sasl-password": passwordVariable, "sasl-token": tokenVariable}

// protection is what was said of it, before it is put together.
type protection struct {
	program   bool // it is said with flags and variables of its own
	tls       *bool
	files     secure.TLS
	mechanism secure.Mechanism // "": none
	user      string
}

// connectionOptions lists what stands in --help behind --brokers.
func connectionOptions(d Defaults, p *protection) []option {
	c := d.Connection
	list := []option{
		{flag: "tls", env: "EO_TLS", help: "speak TLS, and verify the brokers; naming a file turns it on too",
			set: func(_ *Settings, text string) error { return p.setTLS(text) }},
		{flag: "tls-ca", env: "EO_TLS_CA", value: "FILE", initial: c.TLS.CA, from: d.File,
			help: "authorities that may vouch for brokers (PEM), in place of the system's", set: setPath(&p.files.CA)},
		{flag: "tls-cert", env: "EO_TLS_CERT", value: "FILE", initial: c.TLS.Cert, from: d.File,
			help: "the program's own certificate (PEM), for brokers that ask for one", set: setPath(&p.files.Cert)},
		{flag: "tls-key", env: "EO_TLS_KEY", value: "FILE", initial: c.TLS.Key, from: d.File,
			help: "the key of --tls-cert (PEM)", set: setPath(&p.files.Key)},
		{flag: "sasl-mechanism", env: "EO_SASL_MECHANISM", value: "NAME", initial: Setting{Text: c.SASL.Mechanism}, from: d.File,
			help: "how to say who the program is: plain, scram256, scram512, oauthbearer or none", set: func(_ *Settings, text string) error { return p.setMechanism(text) }},
		{flag: "sasl-user", env: "EO_SASL_USER", value: "NAME", initial: c.SASL.User, from: d.File,
			help: "who the program is", set: func(_ *Settings, text string) error { p.user = text; return nil }},
	}
	if c.TLS.On {
		list[0].initial, list[0].from = Setting{Text: "true"}, d.File
	}
	return list
}

func (p *protection) setTLS(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("expected true or false")
	}
	p.tls = &on
	return nil
}

func setPath(to *string) func(*Settings, string) error {
	return func(_ *Settings, text string) error {
		*to = strings.TrimSpace(text)
		if *to == "" {
			return fmt.Errorf("expected a file")
		}
		return nil
	}
}

func (p *protection) setMechanism(text string) error {
	if strings.EqualFold(text, "none") {
		p.mechanism = ""
		return nil
	}
	var words []string
	for _, m := range mechanisms {
		if strings.EqualFold(text, m.word) || strings.EqualFold(text, string(m.name)) {
			p.mechanism = m.name
			return nil
		}
		words = append(words, m.word)
	}
	return fmt.Errorf("expected %s or none", strings.Join(words, ", "))
}

// config puts together what was said, and reads every file once, so that nothing is found missing later.
func (p *protection) config(d Defaults, env Env) (secure.Config, error) {
	var c secure.Config
	if p.tls != nil && *p.tls || p.tls == nil && p.files != (secure.TLS{}) {
		if (p.files.Cert == "") != (p.files.Key == "") {
			return c, p.wrong("the program's own certificate needs its key, and the key its certificate: one of the two is not set")
		}
		c.TLS = &p.files
	}
	var err error
	if c.SASL, err = p.sasl(d, env); err != nil {
		return c, err
	}
	return c, c.Check()
}

// sasl is who the program is to say that it is; nil: nobody.
func (p *protection) sasl(d Defaults, env Env) (*secure.SASL, error) {
	if p.mechanism == "" {
		if p.user != "" && d.Connection.SASL.Mechanism == "" {
			return nil, p.wrong("SASL has a user, %q, and no mechanism: expected plain, scram256 or scram512", p.user)
		}
		return nil, nil
	}
	s := &secure.SASL{Mechanism: p.mechanism}
	own, what := passwordVariable, "the password"
	if p.mechanism == secure.OAuthBearer {
		own, what = tokenVariable, "the token"
	} else if s.User = p.user; p.user == "" {
		return nil, p.wrong("SASL %s needs a user, and none is set", p.mechanism)
	}
	if !p.program {
		own = ""
	}
	var err error
	s.Secret, err = secret(env, own, d.secretFor(p.mechanism), what+" of SASL "+string(p.mechanism))
	return s, err
}

func (p *protection) wrong(what string, args ...any) error {
	if p.program {
		return usage(what, args...)
	}
	return failure.New(failure.Usage, "the options tls and sasl of the .eo file say which variables and files it comes from", nil, what, args...)
}

// secretFor is the name that the file has for the secret of a mechanism, "" if it has none: a token is no password.
func (d Defaults) secretFor(m secure.Mechanism) string {
	if s := d.Connection.SASL; strings.EqualFold(s.Mechanism, string(secure.OAuthBearer)) == (m == secure.OAuthBearer) {
		return s.Secret
	}
	return ""
}

// secret looks a secret up: under the program's own variable, else under the one that the .eo file names, each as a value or as a file.
func secret(env Env, own, named, what string) (secure.Secret, error) {
	for _, name := range []string{own, named} {
		if name == "" {
			continue
		}
		value, _ := env(name)
		path, _ := env(name + fileSuffix)
		switch {
		case value != "" && path != "":
			return secure.Secret{}, failure.New(failure.Usage, "set one of the two", nil, "%s and %s%s are both set: each gives %s", name, name, fileSuffix, what)
		case value != "":
			return secure.Value(name, value), nil
		case path != "":
			return secure.File(name, path), nil
		}
	}
	name := cmp.Or(named, own)
	if name == "" {
		return secure.Secret{}, failure.New(failure.Usage, "name one in the .eo file, as secret(\"NAME\")", nil, "%s has no secret that names it", what)
	}
	return secure.Secret{}, failure.New(failure.Usage, "set one of them and start again", nil,
		"neither %s nor %s%s is set: they give %s", name, name, fileSuffix, what)
}

// secretsText lists the variables of secrets for --help.
func secretsText(d Defaults) string {
	var b strings.Builder
	b.WriteString("\nSecrets come from the environment alone. With " + fileSuffix + " behind its name a variable names a file, which is read again for each connection.\n")
	width := len(passwordVariable)
	for _, v := range []struct {
		name, what string
		mechanism  secure.Mechanism
	}{
		{passwordVariable, "the password of --sasl-user", secure.Plain},
		{tokenVariable, "the token of oauthbearer", secure.OAuthBearer},
	} {
		fmt.Fprintf(&b, "  %s  %s", pad(v.name, width), v.what)
		if name := d.secretFor(v.mechanism); name != "" {
			fmt.Fprintf(&b, ", default secret(%q) from %s", name, d.File)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
