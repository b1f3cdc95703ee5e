// Package kafkatest runs a real Apache Kafka for tests: one KRaft node on loopback, or a cluster of three. It needs
// Java; Kafka's jars are fetched once with Maven. Without them a test is skipped
// loudly, or fails if the environment says EO_REQUIRE_KAFKA=1.
package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/skip"
)

const (
	startLimit  = 5 * time.Minute       // for a broker to come up, on a busy machine
	stopLimit   = 2 * time.Minute       // for a broker to shut down
	callLimit   = 2 * time.Minute       // for what the helpers ask of a broker
	metadataAge = 20 * time.Millisecond // so that a new topic is seen at once

	latestTransactions = 2 // of transaction.version

	startTries = 3 // another process may take a port before the broker does
)

// Options says what broker to start.
type Options struct {
	TransactionVersion int               // the feature transaction.version: 1 or 2; 0 means 2
	Settings           map[string]string // further broker settings, stronger than the defaults here
	Heap               string            // greatest heap of the JVM; "" means 512m
	Secure             bool              // the broker has the listeners of Secured besides
}

// Broker is a running broker, or one that was stopped and can be started again.
type Broker struct {
	Addr    string // host:port; of a cluster those of all nodes, with commas
	Options Options
	Secure  *Secured // if Options say so

	kafka   kafka
	dir     string
	place   place
	ports   []func() // give them up
	process *process
	client  *kgo.Client
}

// Start starts a broker that ends with the test.
func Start(t testing.TB, o Options) *Broker {
	t.Helper()
	b, err := launch(o)
	switch {
	case errors.Is(err, errMissing):
		without(t, err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(b.discard)
	return b
}

// At gives the helpers for a broker that runs already. Only what asks the broker works: it is not this package's
// to stop.
func At(t testing.TB, addr string) *Broker {
	t.Helper()
	b := &Broker{Addr: addr}
	if err := b.connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	return b
}

// without skips a test that cannot have a broker, loudly.
func without(t testing.TB, reason error) {
	t.Helper()
	if os.Getenv("EO_REQUIRE_KAFKA") == "1" {
		t.Fatalf("EO_REQUIRE_KAFKA=1: %v", reason)
	}
	skip.Loudly(t, "%v", reason)
}

// launch starts a broker. Its ports are chosen outside of the range from which Linux takes the ports of
// outgoing connections, so that a stopped broker finds them free again.
func launch(o Options) (*Broker, error) {
	if o.TransactionVersion == 0 {
		o.TransactionVersion = latestTransactions
	}
	k, err := installed()
	if err != nil {
		return nil, err
	}
	for range startTries {
		b := &Broker{Options: o, kafka: k, place: place{id: 1, cluster: newClusterID()}}
		if err = b.prepare(); err == nil {
			err = b.start()
		}
		if err == nil {
			err = b.connect()
		}
		if err == nil && o.Secure {
			err = b.addUsers()
		}
		if err == nil {
			return b, nil
		}
		b.discard()
	}
	return nil, err
}

// prepare makes all that a broker of its own needs to start.
func (b *Broker) prepare() error {
	if err := b.reserve(); err != nil {
		return err
	}
	b.place.voters = b.place.voter()
	return b.create()
}

// reserve makes the broker's folder and chooses its ports.
func (b *Broker) reserve() error {
	var err error
	if b.dir, err = os.MkdirTemp("", "eoc-kafka-"); err != nil {
		return err
	}
	if b.place.port, err = b.takePort(); err != nil {
		return err
	}
	if b.place.controller, err = b.takePort(); err != nil {
		return err
	}
	b.Addr = "127.0.0.1:" + strconv.Itoa(b.place.port)
	return nil
}

// create writes the broker's configuration and formats its storage.
func (b *Broker) create() error {
	if err := b.configure(); err != nil {
		return err
	}
	out, err := b.command("kafka.tools.StorageTool", "format", "--config", b.path("server.properties"), "--cluster-id", b.place.cluster,
		"--feature", fmt.Sprintf("transaction.version=%d", b.Options.TransactionVersion)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format the broker's storage: %w\n%s", err, out)
	}
	return nil
}

func (b *Broker) start() error {
	p, err := run(b.command("kafka.Kafka", b.path("server.properties")), b.path("kafka.log"))
	if err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	b.process = p
	if err := p.awaitReady(startLimit); err != nil {
		return fmt.Errorf("%w; the end of its log:\n%s", err, b.Log(30))
	}
	return nil
}

// connect makes the client of the helpers, and waits until the broker gives out producer ids, which on a busy machine may be long after
// it takes connections. The client finds the broker again after a restart.
func (b *Broker) connect() (err error) {
	b.client, err = b.dial(kgo.MetadataMinAge(metadataAge),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for {
		answer, err := kmsg.NewPtrInitProducerIDRequest().RequestWith(ctx, b.client)
		if err == nil {
			err = kerr.ErrorForCode(answer.ErrorCode)
		}
		if err == nil {
			return nil
		}
		select {
		case <-time.After(metadataAge):
		case <-ctx.Done():
			return fmt.Errorf("the broker gives out no producer ids: %w", err)
		}
	}
}

// command is a Java program of Kafka. The first compiler tier alone starts faster and takes less of the
// machine, which suits tests.
func (b *Broker) command(class string, args ...string) *exec.Cmd {
	heap := b.Options.Heap
	if heap == "" {
		heap = "512m"
	}
	flags := []string{
		"-Xms128m", "-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Djava.io.tmpdir=" + b.dir, "-XX:-UsePerfData", // one that is killed leaves nothing elsewhere
		"-Dlog4j2.configurationFile=" + b.path("log4j2.properties"),
		"-cp", filepath.Join(b.kafka.lib, "*"),
	}
	return exec.Command(b.kafka.java, slices.Concat(flags, b.kafka.flags, []string{class}, args)...)
}

// dial makes a client of the broker or cluster. A connection that ends before its first answer is that of a node that is killed, and not, as the client
// takes it to be, a protocol that is not spoken there: it asks again.
func (b *Broker) dial(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(opts, kgo.SeedBrokers(strings.Split(b.Addr, ",")...), kgo.AlwaysRetryEOF())...)
}

func (b *Broker) path(name string) string { return filepath.Join(b.dir, name) }

// Pid is the process id of the broker.
func (b *Broker) Pid() int { return b.process.cmd.Process.Pid }

// Log is the last n lines of the broker's log.
func (b *Broker) Log(n int) string {
	text, err := os.ReadFile(b.path("kafka.log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n-1):], "")
}

// Stop shuts the broker down in order, and waits until it is gone.
func (b *Broker) Stop(t testing.TB) {
	t.Helper()
	b.end(t, syscall.SIGTERM)
}

// Kill ends the broker with SIGKILL, and waits until it is gone.
func (b *Broker) Kill(t testing.TB) {
	t.Helper()
	b.end(t, syscall.SIGKILL)
}

func (b *Broker) end(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := b.process.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("signal broker %d: %v", b.Pid(), err)
	}
	if err := b.process.awaitEnd(stopLimit); err != nil {
		t.Fatal(err)
	}
}

// Restart starts a stopped or killed broker again, with its data and at its address.
func (b *Broker) Restart(t testing.TB) {
	t.Helper()
	if !b.process.ended() {
		t.Fatalf("restart a broker that runs: process %d", b.Pid())
	}
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
}

// discard kills the broker, if it runs, and removes its data.
func (b *Broker) discard() {
	if b.client != nil {
		b.client.Close()
	}
	if b.process != nil {
		_ = b.process.cmd.Process.Kill() // it may be gone already
		<-b.process.done
	}
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
	for _, release := range b.ports {
		release()
	}
	b.ports = nil
}

// call is the context for one question to the broker.
func call(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	t.Cleanup(cancel)
	return ctx
}
