package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// shop is what a file says with brokers, tls files(…) and sasl scram512(…).
func shop(ca string) func(*Defaults) {
	return func(d *Defaults) {
		d.Connection = Connection{
			Brokers: Setting{Text: "kafka:9093"}, TLS: TLS{CA: Setting{Text: ca}},
			SASL: SASL{Mechanism: "scram512", User: Setting{Text: "shop"}, Secret: "SHOP_PASSWORD"},
		}
	}
}

// pems are an authority and a certificate of it, as files.
func pems(t *testing.T) (ca string, id kafkatest.Identity) {
	t.Helper()
	a, err := kafkatest.NewAuthority(t.TempDir(), "authority")
	if err == nil {
		id, err = a.Issue("client", time.Now().Add(time.Hour))
	}
	if err != nil {
		t.Fatal(err)
	}
	return a.CA, id
}

func TestConnection(t *testing.T) {
	ca, id := pems(t)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   string
		env    map[string]string
		change func(*Defaults)
		want   string // secure.Config.String
		secret string
	}{
		{name: "nothing said", want: "no TLS, no SASL"},
		{name: "tls by flag", args: "--tls", want: "TLS, no SASL"},
		{name: "tls by variable", env: map[string]string{"EO_TLS": "1"}, want: "TLS, no SASL"},
		{name: "a file turns it on", env: map[string]string{"EO_TLS_CA": ca}, want: "TLS, no SASL"},
		{name: "off is off", args: "--tls=false --tls-ca /missing", want: "no TLS, no SASL"},
		{name: "own certificate", args: "--tls-cert " + id.Cert + " --tls-key " + id.Key, want: "TLS with a client certificate, no SASL"},
		{name: "plain", args: "--sasl-mechanism plain --sasl-user shop", env: map[string]string{"EO_SASL_PASSWORD": "pw"},
			want: "no TLS, SASL PLAIN as shop", secret: "pw"},
		{name: "Kafka's name, secret in a file", env: map[string]string{"EO_SASL_MECHANISM": "SCRAM-SHA-256", "EO_SASL_USER": "shop", "EO_SASL_PASSWORD_FILE": file},
			want: "no TLS, SASL SCRAM-SHA-256 as shop", secret: "from a file"},
		{name: "token", env: map[string]string{"EO_SASL_MECHANISM": "oauthbearer", "EO_SASL_TOKEN": "abc"}, want: "no TLS, SASL OAUTHBEARER", secret: "abc"},
		{name: "the file", env: map[string]string{"SHOP_PASSWORD": "pw"}, change: shop(ca), want: "TLS, SASL SCRAM-SHA-512 as shop", secret: "pw"},
		{name: "the file's secret in a file", env: map[string]string{"SHOP_PASSWORD_FILE": file}, change: shop(ca),
			want: "TLS, SASL SCRAM-SHA-512 as shop", secret: "from a file"},
		{name: "variable over the file's secret", env: map[string]string{"SHOP_PASSWORD": "pw", "EO_SASL_PASSWORD": "other"}, change: shop(ca),
			want: "TLS, SASL SCRAM-SHA-512 as shop", secret: "other"},
		{name: "flags over the file", args: "--tls=false --sasl-mechanism plain --sasl-user me", env: map[string]string{"SHOP_PASSWORD": "pw"}, change: shop("/missing"),
			want: "no TLS, SASL PLAIN as me", secret: "pw"},
		{name: "none over the file", args: "--sasl-mechanism none", change: shop(ca), want: "TLS, no SASL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := orders()
			if c.change != nil {
				c.change(&d)
			}
			s, err := Parse(strings.Fields(c.args), variables(c.env), d)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Connection.String(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if c.secret != "" {
				if got, err := s.Connection.SASL.Secret.Read(); got != c.secret || err != nil {
					t.Errorf("the secret is %q (%v), want %q", got, err, c.secret)
				}
				if shown := fmt.Sprintf("%v %+v %#v %q", s, s.Connection.SASL, s, s.Connection.SASL.Secret); strings.Contains(shown, c.secret) && !strings.Contains(file, c.secret) {
					t.Errorf("formatting shows the secret: %s", shown)
				}
			}
			if c.change != nil && s.Brokers[0] != "kafka:9093" {
				t.Errorf("brokers are %q, want those of the file", s.Brokers)
			}
		})
	}
}

func TestConnectionErrors(t *testing.T) {
	ca, id := pems(t)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other, _ := pems(t)
	locked := filepath.Join(t.TempDir(), "locked.pem")
	if err := os.WriteFile(locked, []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		env    map[string]string
		change func(*Defaults)
		want   string
	}{
		{args: "--tls=maybe", want: `--tls is "maybe": expected true or false`},
		{args: "--tls-ca /missing", want: "the authorities of TLS (ca) cannot be read from /missing: no such file"},
		{args: "--tls-ca " + empty, want: "there is no certificate in " + empty + " (ca); expected PEM"},
		{args: "--tls-cert " + id.Cert, want: "needs its key"},
		{args: "--tls-cert " + id.Cert + " --tls-key " + empty, want: "there is no key in " + empty},
		{args: "--tls-cert " + id.Cert + " --tls-key " + locked, want: "the key in " + locked + " has a passphrase"},
		{args: "--tls-cert " + other + " --tls-key " + id.Key, want: "cannot be used: tls: private key does not match"},
		{args: "--sasl-mechanism kerberos", want: `--sasl-mechanism is "kerberos": expected plain, scram256, scram512, oauthbearer or none`},
		{args: "--sasl-user shop", want: `SASL has a user, "shop", and no mechanism`},
		{args: "--sasl-mechanism plain", want: "SASL PLAIN needs a user, and none is set"},
		{args: "--sasl-mechanism plain --sasl-user shop", want: "neither EO_SASL_PASSWORD nor EO_SASL_PASSWORD_FILE is set: they give the password of SASL PLAIN"},
		{args: "--sasl-mechanism oauthbearer", want: "neither EO_SASL_TOKEN nor EO_SASL_TOKEN_FILE is set"},
		{args: "--sasl-mechanism oauthbearer", change: shop(ca), env: map[string]string{"SHOP_PASSWORD": "pw"}, want: "neither EO_SASL_TOKEN"},
		{change: shop(ca), want: "neither SHOP_PASSWORD nor SHOP_PASSWORD_FILE is set"},
		{change: shop("/missing"), env: map[string]string{"SHOP_PASSWORD": "pw"}, want: "/missing"},
		{change: shop(ca), env: map[string]string{"SHOP_PASSWORD": "pw", "SHOP_PASSWORD_FILE": "/f"}, want: "SHOP_PASSWORD and SHOP_PASSWORD_FILE are both set"},
		{change: shop(ca), env: map[string]string{"SHOP_PASSWORD_FILE": "/missing"}, want: "the secret of SHOP_PASSWORD cannot be read from /missing: no such file"},
		{change: shop(ca), env: map[string]string{"SHOP_PASSWORD_FILE": empty}, want: "the secret of SHOP_PASSWORD is empty: " + empty},
		{args: "--sasl-password pw", want: "--sasl-password is not a flag, since everybody can see the flags of a process: set EO_SASL_PASSWORD or EO_SASL_PASSWORD_FILE"},
		{args: "--sasl-token=pw", want: "EO_SASL_TOKEN or EO_SASL_TOKEN_FILE"},
	} {
		d := orders()
		if c.change != nil {
			c.change(&d)
		}
		_, err := Parse(strings.Fields(c.args), variables(c.env), d)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %v:\ngot  %v\nwant %s", c.args, c.env, err, c.want)
		} else if failure.KindOf(err) != failure.Usage {
			t.Errorf("%q: kind %d, want Usage", c.args, failure.KindOf(err))
		}
	}
}

// What the file says of the connection is in --help, and of a secret where it comes from.
func TestHelpOfConnection(t *testing.T) {
	d := orders()
	shop("/etc/ca.pem")(&d)
	s, err := Parse([]string{"--help"}, variables(map[string]string{"SHOP_PASSWORD": "canary"}), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"EO_BROKERS, default kafka:9093 from orders.eo", "EO_TLS_CA, default /etc/ca.pem from orders.eo",
		"EO_SASL_MECHANISM, default scram512 from orders.eo", "EO_SASL_USER, default shop from orders.eo",
		`EO_SASL_PASSWORD  the password of --sasl-user, default secret("SHOP_PASSWORD") from orders.eo`,
	} {
		if !strings.Contains(s.Answer, want) {
			t.Errorf("%q is missing in\n%s", want, s.Answer)
		}
	}
	if strings.Contains(s.Answer, "canary") {
		t.Error("the help shows the secret")
	}
}
