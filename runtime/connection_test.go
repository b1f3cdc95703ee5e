package runtime

import (
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/secure"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
)

// Within another program the connection comes from the file or from Config, and its secrets from Getenv.
func TestConfigConnection(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"SHOP_PASSWORD": "pw", "OTHER": "other", "EO_SASL_PASSWORD": "not this", "EO_TLS": "true"}[name]
		return v, ok
	}
	file := Connection{SASL: SASL{Mechanism: "scram512", User: Setting{Text: "shop"}, Secret: "SHOP_PASSWORD"}}
	p := embedded()
	p.Connection = file
	for _, c := range []struct {
		config *Connection
		secret string
		want   string
	}{
		{nil, "pw", "no TLS, SASL SCRAM-SHA-512 as shop"},
		{&Connection{TLS: TLS{On: true}, SASL: SASL{Mechanism: "plain", User: Setting{Text: "me"}, Secret: "OTHER"}}, "other", "TLS, SASL PLAIN as me"},
		{&Connection{}, "", "no TLS, no SASL"},
	} {
		set, _, err := p.embed(Config{Connection: c.config, Getenv: env})
		if err != nil {
			t.Fatal(err)
		}
		if set.Connection.String() != c.want {
			t.Errorf("got %s, want %s", set.Connection, c.want)
		}
		if c.secret != "" {
			if got, err := set.Connection.SASL.Secret.Read(); got != c.secret || err != nil {
				t.Errorf("%s: the secret is not the one of Getenv (%v)", c.want, err)
			}
		}
	}
	if _, _, err := embedded().embed(Config{Connection: &Connection{SASL: SASL{Mechanism: string(secure.Plain)}}, Getenv: env}); KindOf(err) != KindUsage ||
		!strings.Contains(err.Error(), "SASL PLAIN needs a user") || strings.Contains(err.Error(), "--") {
		t.Errorf("without a user: %v", err)
	}
	if _, _, err := embedded().embed(Config{Connection: &file, Getenv: func(string) (string, bool) { return "", false }}); KindOf(err) != KindUsage ||
		!strings.Contains(err.Error(), "neither SHOP_PASSWORD nor SHOP_PASSWORD_FILE") || strings.Contains(err.Error(), "EO_") {
		t.Errorf("without a secret: %v", err)
	}
}

// How to connect does not change where: the brokers of the file stay, unless Config names others.
func TestConfigConnectionKeepsBrokers(t *testing.T) {
	p := embedded()
	p.Connection.Brokers = Setting{Text: "file:1"}
	for want, cfg := range map[string]Config{
		"file:1":   {Connection: &Connection{TLS: TLS{On: true}}},
		"other:2":  {Connection: &Connection{Brokers: Setting{Text: "other:2"}}},
		"config:3": {Connection: &Connection{Brokers: Setting{Text: "other:2"}}, Brokers: []string{"config:3"}},
	} {
		cfg.Getenv = func(string) (string, bool) { return "", false }
		set, _, err := p.embed(cfg)
		if err != nil || len(set.Brokers) != 1 || set.Brokers[0] != want {
			t.Errorf("brokers are %q (%v), want %s", set.Brokers, err, want)
		}
	}
}

// far is a pipeline of which two sources share a connection of their own, and a third has another one.
func far() Pipeline {
	p := embedded()
	p.Build = Build(func(t *Task) struct{} {
		other := &Connection{Brokers: Setting{Env: "FAR"}, SASL: SASL{Mechanism: "plain", User: Setting{Env: "FAR_USER", Text: "shop", HasDefault: true}, Secret: "FAR_PASSWORD"}}
		for i, c := range []*Connection{nil, other, {Brokers: Setting{Text: "third:1, third:2"}}, other} {
			topic := "orders"
			if i == 3 {
				topic = "more"
			}
			t.Source(SourceSpec{Name: "s" + topic, Place: "p.eo:9", Topic: Setting{Text: topic}, Connection: c}, nil)
		}
		return struct{}{}
	})
	return p
}

// A source's own connection comes from the file alone: what is said of the job's cluster does not go over it. Topics of one name are no
// conflict on two clusters.
func TestConnectionOfSource(t *testing.T) {
	env := map[string]string{"FAR": "far", "FAR_PASSWORD": "pw"}
	look := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	set, spec, err := far().embed(Config{Brokers: []string{"kafka:1"}, Connection: &Connection{TLS: TLS{On: true}}, Getenv: look})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		connection int
		brokers    string
		protection string
	}{
		{0, "kafka:1", "TLS, no SASL"},
		{1, "far:9092", "no TLS, SASL PLAIN as shop"},
		{2, "third:1 third:2", "no TLS, no SASL"},
		{1, "far:9092", "no TLS, SASL PLAIN as shop"},
	} {
		n := spec.Sources[i].Connection
		to := set.Reach(n)
		if n != want.connection || strings.Join(to.Brokers, " ") != want.brokers || to.Connection.String() != want.protection {
			t.Errorf("source %d: connection %d, brokers %v, %v, want %+v", i, n, to.Brokers, to.Connection, want)
		}
	}
	if n := spec.Connections(); n != 3 || len(set.Others) != 2 {
		t.Errorf("%d connections, %d beside the job's", n, len(set.Others))
	}
	for missing, text := range map[string]string{
		"FAR":          "environment variable FAR is not set: it gives the brokers of source sorders (p.eo:9)",
		"FAR_PASSWORD": "neither FAR_PASSWORD nor FAR_PASSWORD_FILE is set",
	} {
		was := env[missing]
		delete(env, missing)
		if _, _, err := far().embed(Config{Getenv: look}); KindOf(err) != KindUsage || !strings.Contains(err.Error(), text) {
			t.Errorf("without %s: %v", missing, err)
		}
		env[missing] = was
	}
	env["FAR"] = "far:x"
	if _, _, err := far().embed(Config{Getenv: look}); KindOf(err) != KindUsage || !strings.Contains(err.Error(), "the brokers of source sorders (p.eo:9)") {
		t.Errorf("a bad list of brokers: %v", err)
	}
	if _, err := far().Spec(func(string) (string, bool) { return "", false }); err != nil {
		t.Errorf("a test needs no brokers: %v", err)
	}
	help, err := settings.Parse([]string{"--help"}, look, settings.Defaults{Name: "p", File: "p.eo", Variables: func() []settings.Variable { task, _ := newTask(far(), look, nil, 0); return task.asked }()})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  FAR           the brokers of source sorders (p.eo:9), has to be set", `the user of SASL at the brokers of source sorders (p.eo:9), default "shop"`, "FAR_PASSWORD_FILE names a file"} {
		if !strings.Contains(help.Answer, want) || strings.Contains(help.Answer, "pw") {
			t.Errorf("%q is missing in\n%s", want, help.Answer)
		}
	}
}
