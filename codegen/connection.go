package codegen

import (
	"github.com/dave/jennifer/jen"
	"github.com/eoc-lang/eoc/planner"
)

// connection lists what the text says of the way to Kafka. Secrets are named in it: their values are never known here.
func (p *program) connection(c planner.Connection) lines {
	var l lines
	said := func(s planner.Setting) bool { return s != planner.Setting{} }
	if said(c.Brokers) {
		l.note(p, "Brokers", setting(c.Brokers), c.BrokersPlace)
	}
	if c.TLS.On {
		values := []jen.Code{entry("On", jen.True())}
		for _, f := range []struct {
			name string
			path planner.Setting
		}{{"CA", c.TLS.CA}, {"Cert", c.TLS.Cert}, {"Key", c.TLS.Key}} {
			if said(f.path) {
				values = append(values, entry(f.name, setting(f.path)))
			}
		}
		l.note(p, "TLS", rt("TLS").Values(values...), c.TLS.Place)
	}
	if c.SASL.Mechanism != "" {
		values := []jen.Code{entry("Mechanism", jen.Lit(c.SASL.Mechanism))}
		if said(c.SASL.User) {
			values = append(values, entry("User", setting(c.SASL.User)))
		}
		values = append(values, entry("Secret", jen.Lit(c.SASL.Secret)))
		l.note(p, "SASL", rt("SASL").Values(values...), c.SASL.Place)
	}
	return l
}
