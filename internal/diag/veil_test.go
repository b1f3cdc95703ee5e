package diag

import (
	"strings"
	"testing"
)

func TestVeil(t *testing.T) {
	for line, want := range map[string]string{
		`  sasl plain(user: "shop", password: "pÄss")`:                       `  sasl plain(user: "shop", password: "****")`,
		`  sasl plain("shop", "pass")`:                                       `  sasl plain("****", "****")`,
		`  sasl plain(user: "shop", pasword: "pass)`:                         `  sasl plain(user: "shop", pasword: "*****`,
		`  sasl plain(user: env("U", "u"), password: env("P", "a \"b\" c"))`: `  sasl plain(user: env("U", "*"), password: env("P", "*********"))`,
		`  sasl scram512(user: env("U"), password: secret("P"))`:             `  sasl scram512(user: env("U"), password: secret("P"))`,
		`  sasl plain(user: "shop", password: secret "P")`:                   `  sasl plain(user: "shop", password: secret "P")`,
		`  sasl plain(user: env "U", password: env "P")`:                     `  sasl plain(user: env "*", password: env "*")`,
		`  sasl plain(user: "shop", password: secret "pass")`:                `  sasl plain(user: "shop", password: secret "****")`,
		`  sasl plain(user: "shop", password: my-secret "PASS")`:             `  sasl plain(user: "shop", password: ********* "****")`,
		`  sasl plain(user: "shop", secret "PASS")`:                          `  sasl plain(user: "shop", secret "****")`,
		`  sasl oauthbearer(token: secret "eyJ.e30.a")`:                      `  sasl oauthbearer(token: secret "*********")`,
		`  password secret "PASS"`:                                           `  password secret "****"`,
		`  sasl plain(user: "shop", password: secret)`:                       `  sasl plain(user: "shop", password: ******)`,
		`    password: "pass")`:                                              `    password: "****")`,
		`    token: env("T", "pass"))`:                                       `    token: env("T", "****"))`,
		`source a: A from kafka("a") { time at }`:                            `source a: A from kafka("a") { time at }`,
		`  token: string = "none"`:                                           `  token: string = "none"`,
		`  where sasl == "x"`:                                                `  where sasl == "x"`,
		// What else stands in the line is shown, if it cannot be a password.
		`source a: A from kafka("a.b") { brokers "k-1:9093, k-2:9093" tls files(ca: "/etc/ca.pem", key: "k.pem") sasl plain("p") on_error dlq("d") start timestamp("2026-01-31T12:00:00Z") }`: `source a: A from kafka("a.b") { brokers "k-1:9093, k-2:9093" tls files(ca: "/etc/ca.pem", key: "k.pem") sasl plain("*") on_error dlq("d") start timestamp("2026-01-31T12:00:00Z") }`,
		`  brokers "shop:pass@kafka:9092"  sasl plain(key: "pass", "kafka")`: `  brokers "********************"  sasl plain(key: "****", "*****")`,
	} {
		if got := veil(line); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", line, got, want)
		}
	}
}

// A line that is nothing but such texts ends too.
func TestVeilOfALongLine(t *testing.T) {
	const part, n = `sasl plain(password: "p", token = q) `, 1 << 11
	got := veil(strings.Repeat(part, n))
	if want := strings.Repeat(`sasl plain(password: "*", token = *) `, n); got != want {
		t.Errorf("got %.100s…", got)
	}
	diags := []Diagnostic{{Span: Span{Line: 1, Column: 1, Length: 1}, Message: "`q` and \"p\""}}
	for range 100 {
		diags = append(diags, diags[0])
	}
	if Veil(diags, []byte(strings.Repeat(part, n))); diags[100].Message != "`*` and \"*\"" {
		t.Errorf("message is %s", diags[100].Message)
	}
}
