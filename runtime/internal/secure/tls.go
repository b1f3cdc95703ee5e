package secure

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// TLS names files in PEM form. Brokers are verified in any case: there is no way to turn that off.
type TLS struct {
	CA        string // certificates that may vouch for brokers; "": those that the system trusts
	Cert, Key string // the program's own certificate, with those between it and its authority, and its key; both or none
}

// Load reads the files. Errors are of kind failure.Usage and name the file.
func (t TLS) Load() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12} // what Kafka speaks too (ssl.enabled.protocols)
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, unreadable(err, "the authorities of TLS (ca)", t.CA)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, failure.New(failure.Usage, pemHelp, nil, "there is no certificate in %s (ca)", t.CA)
		}
	}
	if t.Cert == "" {
		return c, nil
	}
	own, err := t.own()
	if err != nil {
		return nil, err
	}
	c.Certificates = []tls.Certificate{own}
	return c, nil
}

// pemHelp is for who has another form: what Java's tools make.
const pemHelp = "expected PEM, which begins with -----BEGIN; a Java key store becomes PEM with keytool -importkeystore -deststoretype pkcs12, then openssl pkcs12"

// own reads the program's certificate.
func (t TLS) own() (own tls.Certificate, err error) {
	cert, err := os.ReadFile(t.Cert)
	if err != nil {
		return own, unreadable(err, "the certificate of TLS (cert)", t.Cert)
	}
	key, err := os.ReadFile(t.Key)
	if err != nil {
		return own, unreadable(err, "the key of TLS (key)", t.Key)
	}
	if block, _ := pem.Decode(cert); block == nil {
		return own, failure.New(failure.Usage, pemHelp, nil, "there is no certificate in %s (cert)", t.Cert)
	}
	if block, _ := pem.Decode(key); block == nil {
		return own, failure.New(failure.Usage, pemHelp, nil, "there is no key in %s (key)", t.Key)
	} else if bytes.Contains([]byte(block.Type), []byte("ENCRYPTED")) || block.Headers["DEK-Info"] != "" {
		return own, failure.New(failure.Usage, "take the passphrase off with openssl pkey, and let the file's rights protect it", nil, "the key in %s has a passphrase", t.Key)
	}
	if own, err = tls.X509KeyPair(cert, key); err != nil {
		// The error of crypto/tls quotes nothing of the key.
		return own, failure.New(failure.Usage, "the key must be the one that the certificate was made for", err, "certificate %s and key %s cannot be used", t.Cert, t.Key)
	}
	if now := time.Now(); now.After(own.Leaf.NotAfter) {
		return own, failure.New(failure.Usage, "renew it", nil, "the certificate in %s has expired at %s", t.Cert, own.Leaf.NotAfter.Format(time.RFC3339))
	}
	return own, nil
}
