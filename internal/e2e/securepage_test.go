//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/pages"
)

// connectionsOfPage are the commands of docs/operations.md that reach a protected Kafka.
func connectionsOfPage(t *testing.T) (blocks []string) {
	t.Helper()
	list, err := pages.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		for _, b := range p.Blocks {
			if p.Path == "docs/operations.md" && strings.Contains(b.Text, "kafka:9093") {
				blocks = append(blocks, b.Text)
			}
		}
	}
	return blocks
}

// securePage runs the commands of docs/operations.md that reach a protected Kafka, one after the other, each with a share of the input.
func securePage(t *testing.T, broker *kafkatest.Broker, password, token string) {
	s := broker.Secure
	listeners := []string{s.TLS, s.MTLS, s.Scram, s.OAuth} // what each block is about
	blocks := connectionsOfPage(t)
	if len(blocks) != len(listeners) {
		t.Fatalf("docs/operations.md has %d blocks of commands that reach a protected Kafka, want TLS, TLS on both sides, SCRAM and OAUTHBEARER", len(blocks))
	}
	p := newPipeline(t, "orders", patient(example(t, "orders")), broker)
	r := newRun(t, p, program.Mode{}, 1, makeLoad(p.graph, seed(t), caseRecords))
	dir := t.TempDir()
	if err := os.Symlink(r.binary, filepath.Join(dir, "orders")); err != nil {
		t.Fatal(err)
	}
	env := []string{debug, "EO_BROKERS=", trusted(s.Authority.CA)}
	r.more = append(slices.Clone(env), "EO_BROKERS="+s.TLS, "EO_TLS_CA="+s.Authority.CA)
	next := r.feeder.shares(len(blocks) + 1)
	for i, text := range blocks {
		next()
		commands := strings.NewReplacer("kafka:9093", listeners[i], "/etc/kafka/ca.pem", s.Authority.CA, "/etc/orders/own.pem", s.Client.Cert, "/etc/orders/own.key", s.Client.Key,
			"/run/secrets/kafka-password", password, "/run/secrets/kafka-token", token, "--sasl-user orders", "--sasl-user "+kafkatest.User, "./orders", "exec ./orders").Replace(text)
		p := program.Start(t, "/bin/sh", program.Config{
			Args: []string{"-ec", "cd " + dir + "\n" + commands},
			Env:  slices.Concat(r.environment(r.state, r.parallelism, r.interval), env),
		})
		r.awaitMore(t, p, 1)
		if i < len(blocks)-1 {
			r.stop(t, p)
		} else {
			r.complete(t, p)
		}
		quiet(t, p.Log())
	}
}
