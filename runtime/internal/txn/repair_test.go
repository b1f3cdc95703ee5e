package txn_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/secure"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// TestRepair loses the last marker of several pipelines, and has each repaired by what is known of it; one by somebody who lacks the right.
func TestRepair(t *testing.T) {
	versions := []int{2}
	if os.Getenv("EO_MATRIX") == "1" {
		versions = []int{1, 2}
	}
	for _, version := range versions {
		t.Run(fmt.Sprintf("V%d", version), func(t *testing.T) {
			b := kafkatest.Start(t, kafkatest.Options{TransactionVersion: version, Secure: true, Settings: kafkatest.Rights()})
			confirmed, coordinator, behind, stranger, rights, careless := newPipe(t, b, "confirmed"), newPipe(t, b, "coordinator"), newPipe(t, b, "behind"), newPipe(t, b, "stranger"), newPipe(t, b, "rights"), newPipe(t, b, "careless")
			all := []*pipe{confirmed, coordinator, behind, stranger, rights, careless}
			for _, p := range all {
				p.open()
				p.prepare("a")
				p.commit()
				p.confirm()
				p.prepare("b")
				p.commit()
				b.AwaitSettled(t, p.cfg.Spec.Name+"-out")
			}
			confirmed.confirm()
			confirmed.fence()
			coordinator.sink.Close()
			behind.confirm()
			behind.write(3, "c")
			behind.fence() // aborts it
			stranger.confirm()
			stranger.fence()
			rights.confirm()
			rights.fence()
			careless.confirm()
			careless.fence()
			// Both are committed by nobody's word but that of the logs, where there is one: the ids are used, the checkpoint is not confirmed, and its marker is lost.
			offsets, silent := newPipe(t, b, "offsets"), newPipe(t, b, "silent")
			for _, p := range []*pipe{silent, offsets} { // the last one has its marker at the end of the log
				p.open()
				p.prepare("a")
				p.commit()
				p.confirm()
				p.prepare("b")
				p.commit()
				p.stands(2, false, 2)
				p.fence()
			}
			silent.DeleteGroup(t, "eo-silent")
			for _, p := range append(all, silent) {
				b.AwaitSettled(t, p.cfg.Spec.Name+"-out")
			}
			b.Kill(t)
			if b.TearMarker(t, kafka.GroupsTopic, groupsPartition("eo-offsets")) < 0 {
				t.Fatal("the log of the group does not end with a marker")
			}
			all = append(all, silent)
			for _, p := range all {
				if b.TearMarker(t, p.cfg.Spec.Name+"-out", 0) < 0 {
					t.Fatalf("the log of %s does not end with a marker", p.cfg.Spec.Name)
				}
			}
			b.Restart(t)

			held(t, confirmed, "committed", "the state says so")
			held(t, behind, "aborted", "it came behind what the state has committed")
			confirmed.ask(failure.Transient, settings.TxnList, "", "confirmed-out/0", "committed: the state says so", "next: txn repair")
			confirmed.ask(failure.Usage, settings.TxnRepair, "", "committed", "the end marker that commits it is written", "give --yes")
			held(t, confirmed, "committed", "the state says so")
			confirmed.ask(failure.Transient, settings.TxnRepair, "--yes", "wrote the end marker", "readers of committed records go on")
			confirmed.sees("a", "b")
			confirmed.ask(failure.Transient, settings.TxnRepair, "--yes", "there is nothing to repair")

			// Whether the coordinator still says so depends on whether the producer was renewed before it was closed: the marker in the group does.
			r := coordinator.list()
			if len(r.Held) != 1 || r.Held[0].Fate != "committed" || r.Next != "txn repair" {
				t.Errorf("%+v", r)
			}
			coordinator.ask(failure.Transient, settings.TxnRepair, "y\n", "Do that?", "readers of committed records go on")
			coordinator.sees("a", "b")

			s, err := state.OpenBolt(behind.cfg.Settings.StateDir, behind.cfg.State)
			behind.must(err)
			behind.ask(failure.Fenced, settings.TxnRepair, "--yes", "is in use by process") // what runs may have gone on
			behind.must(s.Close())
			behind.ask(failure.Transient, settings.TxnRepair, "--yes", "the end marker that aborts it is written", "readers of committed records go on")
			behind.sees("a", "b")

			stranger.cfg.Settings.StateDir = t.TempDir()
			stranger.DeleteGroup(t, "eo-stranger")
			held(t, stranger, "unknown", "neither the coordinator nor the state reaches back to it")
			stranger.ask(failure.Unknown, settings.TxnRepair, "--yes", "nothing is done", "kafka-transactions.sh abort")
			held(t, stranger, "unknown", "neither")

			// An abort would take the marker back to checkpoint 1, and "b" would be made again.
			r = offsets.list()
			if len(r.Held) != 1 || r.Held[0].Topic != kafka.GroupsTopic || r.Held[0].Fate != "committed" || !strings.Contains(r.Held[0].Why, "the logs of the sinks say so") || r.Next != "txn repair" {
				t.Errorf("the marker of the group is lost: %+v", r)
			}
			offsets.ask(failure.Transient, settings.TxnRepair, "--yes", "the end marker that commits it is written", "readers of committed records go on")
			offsets.stands(2, false, 2)
			offsets.sees("a", "b")
			if r := offsets.list(); r.Conclusion != "a start decides it by itself: it goes on from checkpoint 2" {
				t.Errorf("repaired: %+v", r)
			}

			// Nobody knows what it was: a person says it, and then the state does.
			held(t, silent, "unknown", "neither the coordinator nor the state reaches back to it")
			silent.ask(failure.Unknown, settings.TxnRepair, "--yes", "do not abort the transaction of checkpoint 2 yet", "txn commit")
			silent.ask(failure.Cluster, settings.TxnCommit, "--yes", "checkpoint 2 is confirmed", "the decision is stored, the next start goes on from checkpoint 2", "txn repair")
			silent.holds(2, true)
			silent.ask(failure.Transient, settings.TxnRepair, "--yes", "committed (the state says so", "readers of committed records go on")
			silent.sees("a", "b")

			withoutTheRight(t, rights)

			// Why a start must not go on over a lost marker: this one does, and the next abort takes along what is committed.
			careless.open()
			careless.write(4, "d") // with the transactional id of "b"
			careless.fence()
			careless.sees("a")
		})
	}
}

// groupsPartition is where the offsets of a group are, among the partitions that a test's broker has for them: Kafka takes Java's hash of the name.
func groupsPartition(group string) int32 {
	hash := int32(0)
	for _, c := range []byte(group) {
		hash = 31*hash + int32(c)
	}
	return max(hash, -hash) % 4
}

func held(t *testing.T, p *pipe, fate, why string) {
	t.Helper()
	r := p.list()
	if len(r.Held) != 1 || r.Held[0].Fate != fate || r.Held[0].Offsets < 1 || r.Held[0].Topic != p.cfg.Spec.Name+"-out" {
		t.Fatalf("held back are %+v, want one that is %s", r.Held, fate)
	}
	if h := r.Held[0]; len(h.Why) < len(why) || h.Why[:len(why)] != why {
		t.Errorf("it is %s since %s, want %s", h.Fate, h.Why, why)
	}
}

// withoutTheRight repairs as a user of a pipeline, who may not. It says which right that takes, and what else can be done.
func withoutTheRight(t *testing.T, p *pipe) {
	t.Helper()
	b := p.Broker
	anonymous := p.cfg.Settings
	p.cfg.Settings.Brokers = []string{b.Secure.Plain}
	p.cfg.Settings.Connection = user()
	for _, g := range [][3]string{
		{"read", "topic", "rights-in"}, {"write", "topic", "rights-out"}, {"read", "group", "eo-rights"}, {"write", "txn", "rights-0"}, {"write", "txn", "rights-1"},
	} {
		b.Grant(t, g[0], g[1], g[2])
	}
	p.ask(failure.Cluster, settings.TxnRepair, "--yes", "nothing was done", "rights-out, partition 0", "READ")
	b.Grant(t, "read", "topic", "rights-out")
	p.ask(failure.Cluster, settings.TxnRepair, "--yes", "CLUSTER_ACTION", "ALTER", "administrator")
	p.cfg.Settings.Brokers, p.cfg.Settings.Connection = anonymous.Brokers, anonymous.Connection
	held(t, p, "committed", "the state says so")
	p.ask(failure.Transient, settings.TxnRepair, "--yes", "readers of committed records go on")
	p.sees("a", "b")
}

func user() secure.Config {
	return secure.Config{SASL: &secure.SASL{Mechanism: secure.Plain, User: kafkatest.User, Secret: secure.Value("EO_SASL_PASSWORD", kafkatest.Password)}}
}
