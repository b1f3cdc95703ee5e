package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/secure"
)

// journal is a log that several goroutines write.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// connect opens a cluster and asks it something that only an authenticated client may. Nothing of a secret is in the log or the error.
func connect(t *testing.T, addr string, conn secure.Config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	log := &journal{}
	c, err := Open(ctx, Config{Brokers: []string{addr}, ClientID: "test", Connection: conn,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err == nil {
		_, err = c.Topics(ctx, []string{"any"})
		c.Close()
	}
	text := log.String()
	if err != nil {
		text += err.Error()
	}
	if leaks := kafkatest.Leaks(text); leaks != nil {
		t.Errorf("a secret is shown:\n%s", strings.Join(leaks, ""))
	}
	return err
}

func asUser(m secure.Mechanism, password string) *secure.SASL {
	user := kafkatest.User
	if m == secure.Scram256 {
		user = kafkatest.User256
	}
	return &secure.SASL{Mechanism: m, User: user, Secret: secure.Value("EO_SASL_PASSWORD", password)}
}

func bearer(token string) *secure.SASL {
	return &secure.SASL{Mechanism: secure.OAuthBearer, Secret: secure.Value("EO_SASL_TOKEN", token)}
}

// TestConnections connects to a Kafka that asks for something else on each port: as it wants, and wrongly in every way.
func TestConnections(t *testing.T) {
	b := kafkatest.Start(t, kafkatest.Options{Secure: true})
	s := b.Secure
	stranger, err := kafkatest.NewAuthority(t.TempDir(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	strange, err := stranger.Issue("strange", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	ours := &secure.TLS{CA: s.Authority.CA}
	mutual := &secure.TLS{CA: s.Authority.CA, Cert: s.Client.Cert, Key: s.Client.Key}
	valid, expired := kafkatest.Token(time.Now().Add(time.Hour)), kafkatest.Token(time.Now().Add(-time.Minute))
	const password = kafkatest.Password
	for _, c := range []struct {
		name, addr string
		conn       secure.Config
		want       []string // in the error; nil: none
	}{
		{"plaintext", b.Addr, secure.Config{}, nil},
		{"TLS", s.TLS, secure.Config{TLS: ours}, nil},
		{"TLS with a certificate that nobody asks for", s.TLS, secure.Config{TLS: mutual}, nil},
		{"mTLS", s.MTLS, secure.Config{TLS: mutual}, nil},
		{"PLAIN", s.Plain, secure.Config{SASL: asUser(secure.Plain, password)}, nil},
		{"SCRAM-SHA-256", s.Scram, secure.Config{TLS: ours, SASL: asUser(secure.Scram256, password)}, nil},
		{"SCRAM-SHA-512", s.Scram, secure.Config{TLS: ours, SASL: asUser(secure.Scram512, password)}, nil},
		{"OAUTHBEARER", s.OAuth, secure.Config{TLS: ours, SASL: bearer(valid)}, nil},

		{"authority of the system", s.TLS, secure.Config{TLS: &secure.TLS{}}, []string{s.TLS, "cannot be trusted", "CN=authority", "--tls-ca"}},
		{"other authority", s.TLS, secure.Config{TLS: &secure.TLS{CA: stranger.CA}}, []string{"cannot be trusted", "CN=authority"}},
		{"no certificate", s.MTLS, secure.Config{TLS: ours}, []string{s.MTLS, "asks for a certificate", "--tls-cert"}},
		{"strange certificate", s.MTLS, secure.Config{TLS: &secure.TLS{CA: s.Authority.CA, Cert: strange.Cert, Key: strange.Key}}, []string{"asks for a certificate"}},
		{"TLS to plaintext", b.Addr, secure.Config{TLS: ours}, []string{b.Addr, "does not speak TLS on this port", "--tls=false"}},
		{"TLS to SASL in plaintext", s.Plain, secure.Config{TLS: ours}, []string{"does not speak TLS on this port"}},
		{"plaintext to TLS", s.TLS, secure.Config{}, []string{s.TLS, "speaks TLS, the program does not", "--tls"}},
		{"plaintext to mTLS", s.MTLS, secure.Config{}, []string{"speaks TLS, the program does not"}},
		{"PLAIN to TLS", s.Scram, secure.Config{SASL: asUser(secure.Plain, password)}, []string{"speaks TLS, the program does not"}},
		{"no SASL", s.Plain, secure.Config{}, []string{s.Plain, "wants SASL, the program has none", "it has PLAIN"}},
		{"no SASL over TLS", s.Scram, secure.Config{TLS: ours}, []string{"wants SASL", "it has SCRAM-SHA-256, SCRAM-SHA-512"}},
		{"other mechanism", s.Scram, secure.Config{TLS: ours, SASL: asUser(secure.Plain, password)}, []string{"does not take SASL PLAIN: it has SCRAM-SHA-256, SCRAM-SHA-512"}},
		{"SASL to none", b.Addr, secure.Config{SASL: asUser(secure.Plain, password)}, []string{"does not speak SASL on this port", "--sasl-mechanism none"}},
		{"PLAIN, other password", s.Plain, secure.Config{SASL: asUser(secure.Plain, password+"x")}, []string{"SASL_AUTHENTICATION_FAILED", `"shop"`, "EO_SASL_PASSWORD"}},
		{"SCRAM, other password", s.Scram, secure.Config{TLS: ours, SASL: asUser(secure.Scram512, password+"x")}, []string{"SASL_AUTHENTICATION_FAILED", "EO_SASL_PASSWORD"}},
		{"expired token", s.OAuth, secure.Config{TLS: ours, SASL: bearer(expired)}, []string{"SASL_AUTHENTICATION_FAILED", "EO_SASL_TOKEN", "expired"}},
		{"no token", s.OAuth, secure.Config{TLS: ours, SASL: bearer("no-token-" + password)}, []string{"SASL_AUTHENTICATION_FAILED", "EO_SASL_TOKEN"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			err := connect(t, c.addr, c.conn)
			t.Logf("%v: %v", time.Since(began).Round(time.Millisecond), err)
			if c.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			expectFailure(t, err, failure.Cluster, c.want...)
		})
	}
	t.Run("rotation", func(t *testing.T) { rotate(t, b) })
	t.Run("refused later", func(t *testing.T) { refusedLater(t, b) })
	t.Run("several brokers", func(t *testing.T) { several(t, b) })
}

func expectFailure(t *testing.T, err error, kind failure.Kind, want ...string) {
	t.Helper()
	if err == nil || failure.KindOf(err) != kind {
		t.Fatalf("got %v (kind %d), want an error of kind %d", err, failure.KindOf(err), kind)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is missing in: %v", w, err)
		}
	}
}

// server answers on loopback with a certificate, until the test is over. No request is answered: what a client makes of the certificate is
// decided before.
func server(t *testing.T, id kafkatest.Identity) string {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(id.Cert, id.Key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func(conn net.Conn) {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 1)) // the handshake is part of it
			}(conn)
		}
	}()
	return l.Addr().String()
}

// TestCertificates connects to servers whose certificates come from the right authority, and are wrong all the same.
func TestCertificates(t *testing.T) {
	a, err := kafkatest.NewAuthority(t.TempDir(), "authority")
	if err != nil {
		t.Fatal(err)
	}
	issue := func(name string, until time.Time, hosts ...string) string {
		id, err := a.Issue(name, until, hosts...)
		if err != nil {
			t.Fatal(err)
		}
		return server(t, id)
	}
	ours := secure.Config{TLS: &secure.TLS{CA: a.CA}}
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	elsewhere := issue("elsewhere", soon, "kafka.example", "10.1.2.3")
	expectFailure(t, connect(t, elsewhere, ours), failure.Cluster, elsewhere, "for kafka.example, 10.1.2.3, not for 127.0.0.1")
	expectFailure(t, connect(t, issue("expired", past, "127.0.0.1"), ours), failure.Cluster, "holds from", past.UTC().Format("2006-01-02T15:04:05Z"))
	expectFailure(t, connect(t, issue("early", soon.Add(24*time.Hour), "127.0.0.1"), ours), failure.Cluster, "holds from", "clock")
}

// rotate replaces files: the next connection uses the new ones.
func rotate(t *testing.T, b *kafkatest.Broker) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right, err := os.ReadFile(b.Secure.Authority.CA)
	if err != nil {
		t.Fatal(err)
	}
	conn := secure.Config{
		TLS: &secure.TLS{CA: write("ca.pem", string(right))},
		SASL: &secure.SASL{Mechanism: secure.OAuthBearer,
			Secret: secure.File("EO_SASL_TOKEN", write("token", kafkatest.Token(time.Now().Add(-time.Minute))))},
	}
	expectFailure(t, connect(t, b.Secure.OAuth, conn), failure.Cluster, filepath.Join(dir, "token"))
	write("token", kafkatest.Token(time.Now().Add(time.Hour))+"\n")
	if err := connect(t, b.Secure.OAuth, conn); err != nil {
		t.Fatal(err)
	}
	write("ca.pem", "half of a cert")
	expectFailure(t, connect(t, b.Secure.OAuth, conn), failure.Transient, filepath.Join(dir, "ca.pem"))
	write("ca.pem", string(right))
	if err := connect(t, b.Secure.OAuth, conn); err != nil {
		t.Fatal(err)
	}
}

// refusedLater takes the password away from a cluster that is open. The broker asks for it anew, and it is read anew.
func refusedLater(t *testing.T, b *kafkatest.Broker) {
	file := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(kafkatest.Password)
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	c, err := Open(ctx, Config{Brokers: []string{b.Secure.Scram}, ClientID: "test", Connection: secure.Config{
		TLS:  &secure.TLS{CA: b.Secure.Authority.CA},
		SASL: &secure.SASL{Mechanism: secure.Scram512, User: kafkatest.User, Secret: secure.File("EO_SASL_PASSWORD", file)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for began := time.Now(); time.Since(began) < 4*time.Second; { // longer than the broker believes
		if _, err := c.Topics(ctx, []string{"any"}); err != nil {
			t.Fatalf("with the right password: %v", err)
		}
		sleep(ctx, 100*time.Millisecond)
	}
	write("another")
	for err == nil {
		if _, err = c.Topics(ctx, []string{"any"}); err == nil {
			sleep(ctx, 100*time.Millisecond)
		}
	}
	expectFailure(t, err, failure.Cluster, "SASL_AUTHENTICATION_FAILED", file)
}

// several brokers are asked at once: one that is content is enough, and one that nobody reaches is no reason to end.
func several(t *testing.T, b *kafkatest.Broker) {
	const nobody = "127.0.0.1:1"
	for _, c := range []struct {
		brokers []string
		want    string
	}{
		{[]string{nobody, b.Addr}, ""},
		{[]string{b.Secure.TLS, b.Addr}, ""},
		{[]string{nobody}, ""},
		{[]string{nobody, b.Secure.TLS}, "speaks TLS"},
	} {
		cluster := Cluster{cfg: Config{Brokers: c.brokers}}
		err := cluster.knock(t.Context())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %q", c.brokers, err, c.want)
		}
	}
}
