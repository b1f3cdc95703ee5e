package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/secure"
)

// protection are the options that protect connections, the same for every client.
func (c *Cluster) protection() []kgo.Opt {
	var opts []kgo.Opt
	if c.cfg.Connection.TLS != nil {
		opts = append(opts, kgo.Dialer(c.dialTLS))
	}
	if c.cfg.Connection.SASL != nil {
		opts = append(opts, kgo.SASL(mechanism(*c.cfg.Connection.SASL)))
	}
	return opts
}

// dialTLS connects to a broker and verifies it, with the certificates that are on disk now.
func (c *Cluster) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	config, err := c.cfg.Connection.TLS.Load()
	if err != nil {
		return nil, unready(err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	d := tls.Dialer{Config: config} // it verifies the host's name
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, untrusted(err, addr)
	}
	return conn, nil
}

// unready is a file that cannot be used now, though it could be at the start: somebody is putting a new one in its place.
func unready(err error) error {
	if err == nil {
		return nil
	}
	return failure.New(failure.Transient, "", err, "the connection to Kafka cannot be protected")
}

// mechanism asks for the secret each time: for each connection, and when the broker wants to be told anew (KIP-368).
func mechanism(s secure.SASL) sasl.Mechanism {
	switch s.Mechanism {
	case secure.Plain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := s.Secret.Read()
			return plain.Auth{User: s.User, Pass: password}, unready(err)
		})
	case secure.OAuthBearer:
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			token, err := s.Secret.Read()
			return oauth.Auth{Token: token}, unready(err)
		})
	}
	auth := func(context.Context) (scram.Auth, error) {
		password, err := s.Secret.Read()
		return scram.Auth{User: s.User, Pass: password}, unready(err)
	}
	if s.Mechanism == secure.Scram256 {
		return scram.Sha256(auth)
	}
	return scram.Sha512(auth)
}

// untrusted makes a failure of an error of TLS that trying again does not mend; others are returned as they are. An alert
// of the broker (RFC 8446, 6) can be about the program's own certificate.
func untrusted(err error, addr string) error {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		known     *failure.Error
	)
	refuse := func(help, what string, args ...any) error {
		return failure.New(failure.Cluster, help, err, "the broker at %s cannot be trusted: %s", addr, fmt.Sprintf(what, args...))
	}
	switch {
	case errors.As(err, &known):
	case errors.As(err, &authority):
		issuer := "an authority"
		if authority.Cert != nil {
			issuer = fmt.Sprintf("%q", authority.Cert.Issuer)
		}
		return refuse("if it is the right broker, name the certificate of its authority with --tls-ca or tls files(ca: …)", "its certificate comes from %s, which is not known here", issuer)
	case errors.As(err, &name):
		return refuse("connect by a name that is in it; brokers tell the others' names (advertised.listeners)", "its certificate is for %s, not for %s", names(name.Certificate), name.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return refuse("renew it, or set the clock of this machine", "its certificate holds from %s to %s, and it is %s",
			invalid.Cert.NotBefore.Format(time.RFC3339), invalid.Cert.NotAfter.Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339))
	case errors.As(err, &invalid):
		return refuse("", "its certificate is not valid")
	case aboutCertificate(err):
		return failure.New(failure.Cluster, "give it one that its authority has signed, and that has not expired: --tls-cert and --tls-key, or tls files(cert: …, key: …)", err,
			"the broker at %s asks for a certificate of the program, and refuses what it got", addr)
	}
	return err
}

// names are those that a certificate is for.
func names(cert *x509.Certificate) string {
	list := append([]string(nil), cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		list = append(list, ip.String())
	}
	if len(list) == 0 {
		return "no host"
	}
	return strings.Join(list, ", ")
}

// aboutCertificate says whether an error is the other side's alert about a certificate: bad, unsupported, revoked, expired, unknown, of
// an unknown authority, or missing.
func aboutCertificate(err error) bool {
	const bad, unknown, unknownAuthority, required = 42, 46, 48, 116
	a, ok := alertOf(err)
	return ok && (a >= bad && a <= unknown || a == unknownAuthority || a == required)
}

// alertOf is the alert that the other side has sent. crypto/tls has a type of its own for it, which only its text tells.
func alertOf(err error) (tls.AlertError, bool) {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return 0, false
	}
	for a := range 256 {
		if alert := tls.AlertError(a); alert.Error() == op.Err.Error() {
			return alert, true
		}
	}
	return 0, true
}
