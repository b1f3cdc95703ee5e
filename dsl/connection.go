package dsl

import (
	"net"
	"strconv"
	"strings"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// Connection is how a Kafka cluster is reached. What the text does not say is left to the start of the program.
type Connection struct {
	Brokers      Setting // host:port, several with commas between
	BrokersPlace ir.Place
	TLS          TLS
	SASL         SASL
}

// TLS is `tls on`, `tls off` or `tls files(…)`.
type TLS struct {
	Place         ir.Place // the zero Place: not said
	On            bool
	CA, Cert, Key Setting // paths; Cert and Key both or none
}

// SASL is how the program says who it is.
type SASL struct {
	Place     ir.Place // the zero Place: not said
	Mechanism string   // as the language has it: plain, scram256, scram512, oauthbearer
	User      Setting  // not of oauthbearer
	Secret    string   // the name in secret("NAME"), of the password or token
}

// Said reports whether the text says anything of it.
func (c Connection) Said() bool {
	return c.Brokers != (Setting{}) || c.TLS.Place.Line > 0 || c.SASL.Place.Line > 0
}

// like reports whether the two say the same, wherever they say it.
func (c Connection) like(other Connection) bool { return c.unplaced() == other.unplaced() }

// unplaced is what it says, without where.
func (c Connection) unplaced() Connection {
	c.BrokersPlace, c.TLS.Place, c.SASL.Place = ir.Place{}, ir.Place{}, ir.Place{}
	return c
}

// connectionWords are the options of a connection.
const connectionWords = "brokers tls sasl"

// connection reads the options of a job or source.
func (c *checker) connection(given map[string]*syntax.Option) (out Connection) {
	if o := given["brokers"]; o != nil {
		out.BrokersPlace = c.place(o.Node)
		if s, ok := c.settingOption(o); ok && c.brokers(o, s) {
			out.Brokers = s
		}
	}
	if o := given["tls"]; o != nil {
		out.TLS = c.tls(o)
	}
	if o := given["sasl"]; o != nil {
		out.SASL = c.sasl(o)
	}
	return out
}

// brokers checks a list of host:port, as far as it stands in the text.
func (c *checker) brokers(o *syntax.Option, s Setting) bool {
	if s.Env != "" && !s.HasDefault {
		return true
	}
	for item := range strings.SplitSeq(s.Text, ",") {
		item = strings.TrimSpace(item)
		host, port, err := net.SplitHostPort(item)
		if err != nil && strings.Contains(err.Error(), "missing port") {
			host, port, err = item, "9092", nil
		}
		n, portErr := strconv.Atoi(port)
		if err != nil || host == "" || strings.ContainsAny(host, " /") || portErr != nil || n < 1 || n > 65535 {
			c.badOption(o, `host:port, several with commas between: "kafka-1:9093, kafka-2:9093"`)
			return false
		}
	}
	return true
}

func (c *checker) tls(o *syntax.Option) TLS {
	const form = `files(ca: "ca.pem"), files(cert: "own.pem", key: "own.key"), or all three`
	out := TLS{Place: c.place(o.Node)}
	word, call := c.wordOption(o, "on", "off", `files(ca: "ca.pem")`)
	switch word {
	case "on", "off":
		if call != nil {
			c.errorf(call.Node, "bad-option", "`%s` has nothing in brackets", word)
		}
		out.On = word == "on"
	case "files":
		out.On = true
		to := map[string]*Setting{"ca": &out.CA, "cert": &out.Cert, "key": &out.Key}
		args, ok := namedArgs(call, "ca", "cert", "key")
		for name, e := range args {
			var fine bool
			*to[name], fine = c.setting(e)
			ok = ok && fine
		}
		none := Setting{}
		if !ok || len(args) == 0 || (out.Cert == none) != (out.Key == none) {
			c.badOption(o, form)
		}
	}
	return out
}

// namedArgs are the arguments of a call by name; ok is false if one has another name, none, or one of an earlier one.
func namedArgs(call *syntax.Call, names ...string) (args map[string]syntax.Expr, ok bool) {
	args = map[string]syntax.Expr{}
	if call == nil {
		return args, false
	}
	for _, a := range call.Args {
		name := ""
		for _, n := range names {
			if a.Name != nil && a.Name.String() == n {
				name = n
			}
		}
		if name == "" || args[name] != nil {
			return args, false
		}
		args[name] = a.Value
	}
	return args, true
}

func (c *checker) sasl(o *syntax.Option) SASL {
	out := SASL{Place: c.place(o.Node)}
	word, call := c.wordOption(o, "plain(…)", "scram256(…)", "scram512(…)", "oauthbearer(…)")
	if word == "" {
		return out
	}
	out.Mechanism = word
	secret, form := "password", word+`(user: "name", password: secret("NAME"))`
	names := []string{"user", secret}
	if word == "oauthbearer" {
		secret, form = "token", `oauthbearer(token: secret("NAME"))`
		names = []string{secret}
	}
	args, ok := namedArgs(call, names...)
	if ok && len(args) == len(names) {
		out.Secret, ok = c.secret(args[secret], secret)
		if !ok {
			return out
		}
		if args["user"] != nil {
			out.User, ok = c.setting(args["user"])
			ok = ok && (out.User.Env != "" || out.User.Text != "")
		}
	} else {
		ok = false
	}
	if !ok { // without what stands there, which may be a secret
		c.report(diag.New("bad-option", c.at(o.Values[0].Span()), "this is not a value of `sasl`").WithLabel("expected %s", form))
	}
	return out
}

// secret is the name in secret("NAME"). A value in the text, or one that everybody can see, is refused.
func (c *checker) secret(e syntax.Expr, what string) (name string, ok bool) {
	if call, isCall := e.(*syntax.Call); isCall && len(call.Args) == 1 && call.Args[0].Name == nil {
		ref, isRef := call.Fun.(*syntax.Ref)
		text, isText := call.Args[0].Value.(*syntax.Literal)
		if isRef && ref.Name == "secret" && isText && text.Kind == "string" && envName.MatchString(text.Text) {
			return text.Text, true
		}
	}
	proposed := strings.ToUpper("kafka_" + what)
	if s, isSetting := c.setting(e); isSetting && s.Env != "" {
		proposed = s.Env
	}
	c.report(diag.New("literal-secret", c.at(e.Span()), "the %s has to be a secret", what).WithLabel("expected secret(%q)", proposed).
		WithHelp("the program reads it from the environment variable %s, or from the file that %s_FILE names, and shows it nowhere", proposed, proposed))
	return "", false
}

// connections compares what sources say with the job: the same is the job's connection, anything else is the source's own. That is
// said as a whole, so that no password is sent to a cluster that it was not meant for.
func (c *checker) connections() {
	for _, s := range c.prog.Sources {
		if !s.Connection.Said() || s.Connection.like(c.prog.Job.Connection) {
			s.Connection = Connection{}
			continue
		}
		if s.Connection.BrokersPlace.Line > 0 {
			continue
		}
		word, at := "tls", s.Connection.TLS.Place
		if at.Line == 0 {
			word, at = "sasl", s.Connection.SASL.Place
		}
		c.report(diag.New("connection-place", c.span(at), "`%s` of a source stands beside `brokers`, or in the `job`", word).
			WithHelp("a source on another cluster says all of its connection: `brokers`, and `tls` and `sasl` if it has them; those of the job do not hold for it"))
	}
}

// strayConnection reports options of a connection at a sink.
func (c *checker) strayConnection(opts []*syntax.Option) []*syntax.Option {
	var rest []*syntax.Option
	for _, o := range opts {
		switch o.Word.String() {
		case "brokers", "tls", "sasl":
			c.report(diag.New("connection-place", c.at(o.Word.Node), "`%s` of a sink stands in the `job`", o.Word).
				WithHelp("all sinks are on one cluster, since one Kafka transaction holds what they get: write it in `job name { … }`"))
		default:
			rest = append(rest, o)
		}
	}
	return rest
}
