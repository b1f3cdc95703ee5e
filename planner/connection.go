package planner

import (
	"fmt"
	"strings"
)

// connectionText says in one line how the cluster is reached, "" if the text says nothing. It shows which files and secrets are used, and
// neither paths nor names of users.
func connectionText(c Connection) string {
	var parts []string
	if c.Brokers != (Setting{}) {
		parts = append(parts, "brokers "+settingText(c.Brokers))
	}
	if c.TLS.Place.Line > 0 {
		parts = append(parts, "tls "+tlsText(c))
	}
	if c.SASL.Mechanism != "" {
		parts = append(parts, "sasl "+saslText(c))
	}
	return strings.Join(parts, ", ")
}

// tlsText is on, off or the kinds of files: `files(ca, cert, key)`.
func tlsText(c Connection) string {
	var files []string
	for _, f := range []struct {
		name string
		path Setting
	}{{"ca", c.TLS.CA}, {"cert", c.TLS.Cert}, {"key", c.TLS.Key}} {
		if f.path != (Setting{}) {
			files = append(files, f.name)
		}
	}
	if len(files) > 0 {
		return "files(" + strings.Join(files, ", ") + ")"
	}
	return pick(c.TLS.On, "on", "off")
}

// saslText is the mechanism with where its secret comes from: `scram512 with secret("KAFKA_PASSWORD")`.
func saslText(c Connection) string {
	return fmt.Sprintf("%s with secret(%q)", c.SASL.Mechanism, c.SASL.Secret)
}

// OneCluster takes the connections of sources away: everything is then on the cluster of the job.
func (g *Graph) OneCluster() {
	for _, n := range g.Nodes {
		if s, ok := n.Op.(*Source); ok {
			s.Connection = Connection{}
		}
	}
}
