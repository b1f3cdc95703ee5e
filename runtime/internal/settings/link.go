package settings

import (
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Link is a connection of a source that is not the job's. No flags go over it: those are about the cluster of the job.
type Link struct {
	Connection Connection
	Of         string // whose it is, for messages: `source orders (orders.eo:9)`
}

// settings are those that a variable can give.
func (l Link) settings() []Variable {
	c := l.Connection
	return []Variable{
		{c.Brokers, "the brokers of " + l.Of},
		{c.TLS.CA, "the authorities (ca) of the brokers of " + l.Of},
		{c.TLS.Cert, "the own certificate (cert) for the brokers of " + l.Of},
		{c.TLS.Key, "the key of the own certificate for the brokers of " + l.Of},
		{c.SASL.User, "the user of SASL at the brokers of " + l.Of},
	}
}

// Variables are the variables that Resolve looks up, for --help.
func (l Link) Variables() []Variable {
	var list []Variable
	for _, v := range l.settings() {
		if v.Setting.Env != "" {
			list = append(list, v)
		}
	}
	if name := l.Connection.SASL.Secret; name != "" {
		list = append(list, Variable{Setting{Env: name}, "the secret of SASL at the brokers of " + l.Of + "; " + name + fileSuffix + " names a file in its place"})
	}
	return list
}

// Resolve looks everything up and reads every file once, so that nothing is found missing later.
func (l Link) Resolve(env Env) (Target, error) {
	var p protection
	var s Settings
	user := func(_ *Settings, text string) error { p.user = text; return nil }
	set := []func(*Settings, string) error{setBrokers, setPath(&p.files.CA), setPath(&p.files.Cert), setPath(&p.files.Key), user}
	for i, v := range l.settings() {
		if i > 0 && v.Setting == (Setting{}) {
			continue
		}
		text, err := v.Setting.Resolve(env, v.What)
		if err != nil {
			return Target{}, err
		}
		if err := set[i](&s, text); err != nil {
			return Target{}, failure.New(failure.Usage, "set it anew and start again", nil, "%s: %q: %v", v.What, text, err)
		}
	}
	if l.Connection.TLS.On {
		p.tls = &l.Connection.TLS.On
	}
	if m := l.Connection.SASL.Mechanism; m != "" {
		if err := p.setMechanism(m); err != nil {
			return Target{}, failure.New(failure.Usage, "name another one in the .eo file and build again", nil, "the mechanism of SASL of %s is %q: %v", l.Of, m, err)
		}
	}
	var err error
	s.Connection, err = p.config(Defaults{Connection: l.Connection}, env)
	return Target{Brokers: s.Brokers, Connection: s.Connection}, err
}
