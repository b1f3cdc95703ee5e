package dsl_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
)

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
		`sasl plain(user: "shop", password: "hunter2\q")`,
		`sasl plain(user: "shop", password: "hunter2)`,
		`sasl plain(user: "shop", password: env("P", "hunter2"))`,
		`sasl plain(user: "shop", password: secret("hunter2 "))`,
		`sasl oauthbearer("hunter2")`,
		"sasl plain(\n    user: \"shop\",\n    password: \"hunter2\")",
		`sasl_password "hunter2"`,
		`password "hunter2"`,
		`tls files(ca: "a", password: "hunter2")`,
		`store bolt("s")  sasl plain(user: "shop", password: "hunter2")`,
	} {
		src := []byte("type Order { id: string  at: timestamp }\nsource orders: Order from kafka(\"orders\") { time at }\n" +
			"stream s { from orders  to kafka(\"t\") }\njob orders {\n  " + line + "\n}\n")
		_, diags := dsl.Check("orders.eo", src)
		_, more := dsl.Format("orders.eo", src)
		if len(diags) == 0 {
			t.Errorf("%s: no error", line)
		}
		for _, list := range [][]diag.Diagnostic{diags, more} {
			var out bytes.Buffer
			if err := diag.Render(&out, list, src, false); err != nil {
				t.Fatal(err)
			}
			if err := diag.WriteJSON(&out, list); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), "hunter2") {
				t.Errorf("%s is shown:\n%s", line, &out)
			}
		}
	}
}
