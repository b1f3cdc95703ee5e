package diag

import (
	"strings"
	"testing"
)

func TestVeil(t *testing.T) {
	for line, want := range map[string]string{
		`  sasl plain(user: "shop", password: "pÄss")`:                        `  sasl plain(user: "shop", password: "****")`,
		`  sasl plain("shop", "pass")`:                                        `  sasl plain("****", "****")`,
		`  sasl plain(user: "shop", pasword: "pass)`:                          `  sasl plain(user: "shop", pasword: "*****`,
		`  sasl plain(user: env("U", "u"), password: env("P", "a \"b\" c"))`:  `  sasl plain(user: env("U", "*"), password: env("P", "*********"))`,
		`  sasl scram512(user: env("U"), password: secret("P"))`:              `  sasl scram512(user: env("U"), password: secret("P"))`,
		`  sasl plain(user: "shop", password: secret "P")`:                    `  sasl plain(user: "shop", password: secret "P")`,
		`  sasl plain(user: env "U", password: env "P")`:                      `  sasl plain(user: env "*", password: env "*")`,
		`  sasl plain(user: "shop", password: secret "pass")`:                 `  sasl plain(user: "shop", password: secret "****")`,
		`  sasl plain(user: "shop", password: my-secret "PASS")`:              `  sasl plain(user: "shop", password: ********* "****")`,
		`  sasl plain(user: "shop", secret "PASS")`:                           `  sasl plain(user: "shop", secret "****")`,
		`  sasl oauthbearer(token: secret "eyJ.e30.a")`:                       `  sasl oauthbearer(token: secret "*********")`,
		`  password secret "PASS"`:                                            `  password secret "****"`,
		`  sasl plain(user: "shop", password: secret)`:                        `  sasl plain(user: "shop", password: ******)`,
		`    password: "pass")`:                                               `    password: "****")`,
		`    token: env("T", "pass"))`:                                        `    token: env("T", "****"))`,
		`source a: A from kafka("a") { time at }`:                             `source a: A from kafka("a") { time at }`,
		`  token: string = "none"`:                                            `  token: string = "none"`,
		`  where sasl == "x"`:                                                 `  where sasl == "x"`,
		`  sasl plan(user: "shop", pasword: my-pass)`:                         `  sasl plan(user: "shop", pasword: *******)`,
		`  sasl SCRAM-SHA-512(username: shop, key: k, other: x)`:              `  sasl SCRAM-SHA-512(username: ****, key: *, *****: *)`,
		`  sasl plain(user: shop, password: secret(KAFKA_PASSWORD))`:          `  sasl plain(user: ****, password: secret(KAFKA_PASSWORD))`,
		`  sasl plain(user: "shop", password: secret(my-pass))`:               `  sasl plain(user: "shop", password: secret(*******))`,
		`  sasl plain(user: "shop", password: password)  store bolt("s")`:     `  sasl plain(user: "shop", password: ********)  store bolt("s")`,
		`job j { parallelism 4  password my-pass  restart backoff(1s) }`:      `job j { parallelism 4  password *******  restart backoff(**) }`,
		`stream s { from a  where token == x  key password  select pass: y }`: `stream s { from a  where token == x  key password  select pass: y }`,
		`source tokens: Token from kafka("tokens") { time token_at }`:         `source tokens: Token from kafka("tokens") { time token_at }`,
		`source a: A from kafka("a") { time at  key id, token, b  token x }`:  `source a: A from kafka("a") { time at  key id, token, b  token * }`,
		`source a: A from kafka("kafka://shop:pass@kafka/t")`:                 `source a: A from kafka("*************************")`,
		`source a: A from kafka://shop:pass@kafka/t`:                          `source a: A from kafka:******:************`,
		`job j { passphrase "pass"  api_key "pass" }`:                         `job j { passphrase "****"  ******* "****" }`,
		`job j { auth "pass" }`:                                               `job j { auth "****" }`,
		`source a: A from kafka("a") { time at  key auth }`:                   `source a: A from kafka("a") { time at  key auth }`,
		`// see https://kafka.apache.org:443/documentation`:                   `// see https://kafka.apache.org:443/documentation`,
		// What else stands in the line is shown, if it cannot be a password.
		`source a: A from kafka("a.b") { brokers "k-1:9093, k-2:9093" tls files(ca: "/etc/ca.pem", key: "k.pem") sasl plain("p") on_error dlq("d") start timestamp("2026-01-31T12:00:00Z") }`: `source a: A from kafka("a.b") { brokers "k-1:9093, k-2:9093" tls files(ca: "/etc/ca.pem", key: "k.pem") sasl plain("*") on_error dlq("d") start timestamp("2026-01-31T12:00:00Z") }`,
		`  brokers "shop:pass@kafka:9092"  sasl plain(key: "pass", "kafka")`: `  brokers "********************"  sasl plain(key: "****", "*****")`,
	} {
		if got := veil(line, secrets([]string{"type T {", line})[1]); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", line, got, want)
		}
	}
}

// What is about passwords goes on over the lines that it is open in, and nowhere else.
func TestVeilOverLines(t *testing.T) {
	source := `set kafka_password = my-pass;
type Order { token: string  at: timestamp }
job orders {
  parallelism four
  sasl plain(
    shop,
    my-pass
  )
  store four
  password:
    my-pass
  checkpoint four
  sasl plain(user: "name", password: secret("PASSWORD"))
  parallelism four
  password "my-pass
my-pass
  parallelism four
}
stream s {
  from orders
  to kafka("t") {
    api_token my-pass
    key four
  }
}
`
	want := strings.ReplaceAll(strings.ReplaceAll(source, "my-pass", "*******"), "shop", "****")
	lines := strings.Split(source, "\n")
	for i, parts := range secrets(lines) {
		if got, want := veil(lines[i], parts), strings.Split(want, "\n")[i]; got != want {
			t.Errorf("line %d is %q, want %q", i+1, got, want)
		}
	}
}

// A line that is nothing but such texts ends too.
func TestVeilOfALongLine(t *testing.T) {
	const part, n = `sasl plain(password: "p", token = q) `, 1 << 11
	line := strings.Repeat(part, n)
	got := veil(line, secrets([]string{line})[0])
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
