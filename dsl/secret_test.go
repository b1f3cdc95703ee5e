package dsl_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
)

// secretPlaces are where options may stand, with a line of them in the middle.
var secretPlaces = []string{
	"type Order { id: string  at: timestamp }\nsource orders: Order from kafka(\"orders\") { time at }\n" +
		"stream s { from orders  to kafka(\"t\") }\njob orders {\n  %s\n}\n",
	"type Order { id: string  at: timestamp }\nsource orders: Order from kafka(\"orders\") {\n  time at\n  brokers \"b\"\n  %s\n}\n" +
		"stream s { from orders  to kafka(\"t\") }\n",
	"type Order { id: string  at: timestamp }\nsource orders: Order from kafka(\"orders\") { time at }\n" +
		"stream s {\n  from orders\n  to kafka(\"t\") {\n    key id\n    %s\n  }\n}\n",
	"type Order { id: string  at: timestamp }\nsource orders: Order from kafka(\"orders\") { time at  brokers \"b\"  %s }\n" +
		"stream s { from orders  to kafka(\"t\") }\n",
	"%s\ntype Order { id: string  at: timestamp }\nsource orders: Order from kafka(\"orders\") { time at }\n" +
		"stream s { from orders  to kafka(\"t\") }\n",
}

// However wrong the way is in which somebody writes a password into a file: no message shows it.
func TestNoMessageShowsAPassword(t *testing.T) {
	for _, line := range []string{
		`sasl plain(user: "shop", password: "hunter2")`,
		`sasl plain(user: "shop" password: "hunter2")`,
		`sasl plain(user: "shop", password "hunter2")`,
		`sasl plain user: "shop", password: "hunter2"`,
		`sasl plain("hunter2"`,
		`sasl "hunter2"`,
		`sasl = plain(user: "shop", password: "hunter2")`,
		`sasl: plain(user: "shop", password: "hunter2")`,
		`sasl plain(user: "shop", password = "hunter2")`,
		`sasl plain(user: "shop", password: 'hunter2')`,
		`sasl plain(user: "shop", password: hunter2)`,
		`sasl plain(user: "shop", password: hunter2, key: "k")`,
		`sasl plain(user: "shop", password: (hunter2))`,
		`sasl plain(user: "shop", password: hunter2("x"))`,
		`sasl plain(user: "shop", password: secret hunter2)`,
		`sasl plain(user: "shop", password: secret(hunter2))`,
		`sasl plain(user: "shop", password: "hunter2\q")`,
		`sasl plain(user: "shop", password: "hunter2)`,
		`sasl plain(user: "shop", password: env("P", "hunter2"))`,
		`sasl plain(user: "shop", password: secret("hunter2 "))`,
		`sasl plain(user: "shop", passwort: hunter2)`,
		`sasl plain(shop, hunter2)`,
		`sasl plain(shop:hunter2)`,
		`sasl plain shop hunter2`,
		`sasl hunter2`,
		`sasl oauthbearer("hunter2")`,
		`sasl oauthbearer(hunter2.e30.x)`,
		"sasl plain(\n    user: \"shop\",\n    password: \"hunter2\")",
		"sasl plain(\n    shop,\n    hunter2\n)",
		"sasl plain(user: \"shop\", password:\n    hunter2)",
		`sasl_password "hunter2"`,
		`password "hunter2"`,
		`password hunter2`,
		`password: hunter2`,
		`password: secret hunter2`,
		`password = (hunter2)`,
		`pass: "hunter2"`,
		`pass hunter2`,
		`api_token hunter2`,
		`client_secret: hunter2`,
		`credentials "hunter2"`,
		`tls files(ca: "a", password: "hunter2")`,
		`tls files(ca: "a", password: hunter2)`,
		`store bolt("s")  sasl plain(user: "shop", password: "hunter2")`,
		`brokers "shop:hunter2@kafka:9092"`,
	} {
		for _, place := range secretPlaces {
			if !hides(t, fmt.Sprintf(place, line)) {
				t.Errorf("%s: no error", line)
			}
		}
	}
}

// The same after slips of all kinds in lines that are right but for the password. What says that it is one stays there.
func TestNoMessageShowsAPasswordAfterASlip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := strings.Fields(rapid.SampledFrom([]string{
			`sasl plain ( user : "shop" , password : %s )`,
			`sasl scram512 ( user : env ( "KAFKA_USER" ) , password : %s )  store bolt ( "s" )`,
			`sasl oauthbearer ( token : %s ) tls files ( ca : "ca.pem" )`,
		}).Draw(t, "line"))
		secret := rapid.SampledFrom([]string{`hunter2`, `"hunter2"`, `'hunter2'`, `hunter2-x!y.z`, `hunter2/+==`, `"hunter2`, `(hunter2)`, `secret("hunter2%")`, `hunter2:1,2`}).Draw(t, "secret")
		for range rapid.IntRange(0, 2).Draw(t, "slips") {
			i := rapid.IntRange(1, len(tokens)-1).Draw(t, "at")
			slip := rapid.SampledFrom([]string{"", "\n", ",", "=", "}", "(", "pasword", `"`, "from", ";"}).Draw(t, "slip")
			if !slices.Contains([]string{"password", "token", "%s"}, tokens[i]) && rapid.Bool().Draw(t, "instead") {
				tokens[i] = slip
			} else {
				tokens = slices.Insert(tokens, i, slip)
			}
		}
		line := strings.Join(tokens, " ")
		if rapid.Bool().Draw(t, "tight") {
			line = regexp.MustCompile(` ?([:,()]) ?`).ReplaceAllString(line, "$1")
		}
		line = strings.Replace(line, "%s", secret, 1)
		hides(t, strings.Replace(rapid.SampledFrom(secretPlaces).Draw(t, "place"), "%s", line, 1))
	})
}

// hides fails if something shows hunter2, and reports whether something was wrong with the source.
func hides(t rapid.TB, src string) bool {
	_, diags := dsl.Check("orders.eo", []byte(src))
	_, more := dsl.Format("orders.eo", []byte(src))
	for _, list := range [][]diag.Diagnostic{diags, more} {
		var out bytes.Buffer
		if err := diag.Render(&out, list, []byte(src), false); err != nil {
			t.Fatal(err)
		}
		if err := diag.WriteJSON(&out, list); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "hunter2") {
			t.Errorf("%s\nis shown:\n%s", src, &out)
		}
	}
	return len(diags) > 0
}
