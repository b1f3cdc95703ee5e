package planner_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/planner"
)

// A source with a connection of its own shows it, and one that repeats the job's does not have one.
func TestConnectionOfSource(t *testing.T) {
	const job = "job a {\n  brokers \"kafka:9092\"\n}\n"
	own := strings.Replace(base, "time at", "time at\n  brokers env(\"FAR\")\n  sasl plain(user: \"somebody\", password: secret(\"FAR_PASSWORD\"))", 1)
	same := strings.Replace(base, "time at", "time at\n  brokers \"kafka:9092\"", 1)
	for text, shown := range map[string]bool{own + job: true, same + job: false} {
		g := plan(t, "a.eo", text)
		for range 2 {
			for form, write := range map[string]func(io.Writer, *planner.Graph) error{
				`cluster  brokers env("FAR"), sasl plain with secret("FAR_PASSWORD")`: planner.WriteText,
				`"secret": "FAR_PASSWORD"`: planner.WriteJSON,
			} {
				var b bytes.Buffer
				if err := write(&b, g); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(b.String(), form) != shown || strings.Contains(b.String(), "somebody") {
					t.Errorf("%q is there: %v, in\n%s", form, !shown, &b)
				}
			}
			g.OneCluster()
			shown = false
		}
	}
}

// Plans say that a connection is protected and where secrets come from. Paths and users stay out.
func TestConnectionInPlans(t *testing.T) {
	g := plan(t, "a.eo", base+`
job a {
  brokers env("KAFKA", "kafka:9093")
  tls     files(ca: "/etc/ca.pem", cert: "/etc/own.pem", key: env("OWN_KEY", "/etc/own.key"))
  sasl    scram512(user: "somebody", password: secret("SHOP_PASSWORD"))
}
`)
	const line = `brokers env("KAFKA", "kafka:9093"), tls files(ca, cert, key), sasl scram512 with secret("SHOP_PASSWORD")`
	for form, write := range map[string]func(io.Writer, *planner.Graph) error{
		"\nconnection " + line + "\n":                                 planner.WriteText,
		"\n  label=\"" + strings.ReplaceAll(line, `"`, `\"`) + "\"\n": planner.WriteDOT,
		`"secret": "SHOP_PASSWORD"`:                                   planner.WriteJSON,
	} {
		var b bytes.Buffer
		if err := write(&b, g); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), form) {
			t.Errorf("%q is missing in\n%s", form, &b)
		}
		for _, hidden := range []string{"/etc/", "somebody"} {
			if strings.Contains(b.String(), hidden) {
				t.Errorf("%q is shown in\n%s", hidden, &b)
			}
		}
		if strings.HasPrefix(form, `"`) {
			var p planner.PlanJSON
			if err := json.Unmarshal(b.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			c := p.Connection
			if c == nil || c.Brokers == nil || *c.Brokers != (planner.BrokersJSON{List: "kafka:9093", Env: "KAFKA"}) || c.TLS != "files(ca, cert, key)" || c.SASL != "scram512" {
				t.Errorf("connection is %+v", c)
			}
		}
	}
}
