// Package secure is how a connection to Kafka is protected: TLS, and who the program says it is (SASL). It knows
// files and secrets, not Kafka's protocol.
//
// Everything that can change while a program runs (certificates, passwords, tokens) is read when a connection is made, so that
// a new one on disk is used by the next connection.
package secure

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Config is how connections are protected. The zero Config is neither encrypted nor authenticated.
type Config struct {
	TLS  *TLS
	SASL *SASL
}

// String says what is used, for logs: `TLS with a client certificate, SASL SCRAM-SHA-512 as shop`.
func (c Config) String() string {
	text := "no TLS"
	if c.TLS != nil {
		text = "TLS"
		if c.TLS.Cert != "" {
			text += " with a client certificate"
		}
	}
	switch {
	case c.SASL == nil:
		return text + ", no SASL"
	case c.SASL.User == "":
		return fmt.Sprintf("%s, SASL %s", text, c.SASL.Mechanism)
	}
	return fmt.Sprintf("%s, SASL %s as %s", text, c.SASL.Mechanism, c.SASL.User)
}

// Check reads everything once, so that a start says what is missing or broken. Errors are of kind failure.Usage.
func (c Config) Check() error {
	if c.TLS != nil {
		if _, err := c.TLS.Load(); err != nil {
			return err
		}
	}
	if c.SASL != nil {
		if _, err := c.SASL.Secret.Read(); err != nil {
			return err
		}
	}
	return nil
}

// Mechanism is the name of a SASL mechanism, as Kafka has it.
type Mechanism string

// The mechanisms that a program speaks: RFC 4616, RFC 5802 and 7677, RFC 7628.
const (
	Plain       Mechanism = "PLAIN"
	Scram256    Mechanism = "SCRAM-SHA-256"
	Scram512    Mechanism = "SCRAM-SHA-512"
	OAuthBearer Mechanism = "OAUTHBEARER"
)

// Bare says whether the secret itself is sent, so that only TLS protects it.
func (m Mechanism) Bare() bool { return m == Plain || m == OAuthBearer }

// SASL is who the program says it is.
type SASL struct {
	Mechanism Mechanism
	User      string // "" with OAuthBearer, whose token names its owner
	Secret    Secret // the password, or the token
}

// Help is what to do when the broker does not believe it.
func (s *SASL) Help() string {
	switch {
	case s == nil:
		return ""
	case s.Mechanism == OAuthBearer:
		return fmt.Sprintf("the token comes from %s: look whether it has expired, and whether it is for this cluster", s.Secret)
	}
	return fmt.Sprintf("check the user, %q, and its password, which comes from %s; users of SCRAM have a password for each mechanism", s.User, s.Secret)
}

// Secret is a value that nothing shows. It keeps where to read it, in a function, so that no
// formatting of whatever holds it can print it.
type Secret struct {
	// Origin says where the value comes from: `EO_SASL_PASSWORD`, `/run/secrets/kafka`.
	Origin string
	read   func() (string, error)
}

// Value is a secret that does not change.
func Value(origin, value string) Secret {
	return Secret{origin, func() (string, error) { return value, nil }}
}

// File is a secret in a file, which is read each time. Space around it, such as the line's end that editors
// add, does not belong to it.
func File(variable, path string) Secret {
	return Secret{path, func() (string, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", unreadable(err, "the secret of "+variable, path)
		}
		value := strings.TrimSpace(string(text))
		if value == "" {
			return "", failure.New(failure.Usage, "write the secret into the file, in one line", nil, "the secret of %s is empty: %s", variable, path)
		}
		return value, nil
	}}
}

// Read is the value.
func (s Secret) Read() (string, error) { return s.read() }

// String is where the value comes from, never the value.
func (s Secret) String() string { return s.Origin }

// unreadable is a file that cannot be read.
func unreadable(err error, what, path string) error {
	var at *os.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return failure.New(failure.Usage, "check the path, and that the user of the program may read the file", err, "%s cannot be read from %s", what, path)
}
