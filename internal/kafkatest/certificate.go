package kafkatest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates for tests. Its files lie in a folder of its own.
type Authority struct {
	CA string // path of its certificate, PEM

	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Identity is a certificate with its key: two paths of PEM files, and one of a file that holds both, as Kafka wants them.
type Identity struct{ Cert, Key, Both string }

// validity is how long certificates of tests hold.
const validity = time.Hour

// NewAuthority makes an authority with files in dir.
func NewAuthority(dir, name string) (*Authority, error) {
	a := &Authority{CA: filepath.Join(dir, name+".pem"), dir: dir}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-validity), NotAfter: time.Now().Add(validity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return a, os.WriteFile(a.CA, certificatePEM(der), 0o600)
}

// Issue makes a certificate for hosts (names or addresses) that holds until then, for servers as for clients. One
// of an earlier call with the same name is replaced.
func (a *Authority) Issue(name string, until time.Time, hosts ...string) (Identity, error) {
	id := Identity{Cert: filepath.Join(a.dir, name+"-cert.pem"), Key: filepath.Join(a.dir, name+"-key.pem"), Both: filepath.Join(a.dir, name+".pem")}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name}, NotBefore: until.Add(-2 * validity), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return id, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return id, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return id, err
	}
	cert, keyText := certificatePEM(der), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	for path, text := range map[string][]byte{id.Cert: cert, id.Key: keyText, id.Both: append(append([]byte{}, keyText...), cert...)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return id, fmt.Errorf("certificate of %s: %w", name, err)
		}
	}
	return id, nil
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func serial() *big.Int {
	var b [8]byte
	rand.Read(b[:])
	return new(big.Int).SetBytes(b[:])
}
