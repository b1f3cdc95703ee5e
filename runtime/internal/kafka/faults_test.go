package kafka

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// newFakeBed is a bed on a broker that fails on demand.
func newFakeBed(t *testing.T, opts ...kfake.Opt) (*bed, *kfake.Cluster) {
	t.Helper()
	fake, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.ClusterID("fake-" + t.Name())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return newBedAt(t, kafkatest.At(t, fake.ListenAddrs()[0])), fake
}

// newFakeBedBehind is one behind a proxy.
func newFakeBedBehind(t *testing.T) (*bed, *faultproxy.Proxy) {
	t.Helper()
	b, fake := newFakeBed(t)
	proxy := faultproxy.Start(t, fake.ListenAddrs()...)
	c, err := Open(b.ctx, Config{Brokers: []string{proxy.Addr()}, ClientID: "test"})
	b.must(err)
	t.Cleanup(c.Close)
	b.cluster = c
	return b, proxy
}

// Answers that pass are waited out, wherever they come.
func TestPassingErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		key  kmsg.Key
		err  *kerr.Error
	}{
		{"init", kmsg.InitProducerID, kerr.ConcurrentTransactions},
		{"init", kmsg.InitProducerID, kerr.CoordinatorLoadInProgress},
		{"marker", kmsg.TxnOffsetCommit, kerr.ConcurrentTransactions},
		{"marker", kmsg.TxnOffsetCommit, kerr.UnknownTopicID},
		{"marker", kmsg.TxnOffsetCommit, kerr.NotCoordinator},
		{"marker applied", kmsg.TxnOffsetCommit, kerr.RequestTimedOut},
		{"end", kmsg.EndTxn, kerr.ConcurrentTransactions},
		{"end", kmsg.EndTxn, kerr.CoordinatorNotAvailable},
		{"end", kmsg.EndTxn, kerr.NotCoordinator},
		{"end", kmsg.EndTxn, kerr.UnknownServerError},
		{"read marker", kmsg.OffsetFetch, kerr.UnstableOffsetCommit},
		{"read marker", kmsg.OffsetFetch, kerr.CoordinatorLoadInProgress},
		{"produce", kmsg.Produce, kerr.NotLeaderForPartition},
		{"produce", kmsg.Produce, kerr.RequestTimedOut},
		{"produce applied", kmsg.Produce, kerr.NotEnoughReplicasAfterAppend},
	} {
		t.Run(c.name+" "+c.err.Message, func(t *testing.T) {
			b, fake := newFakeBed(t)
			s := b.sink(b.cluster, b.config())
			b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
			b.marked(1)
			fault := fake.Fault(kfake.Fault{Keys: []kmsg.Key{c.key}, Err: c.err, Count: 3})
			b.must(s.Commit(b.ctx, b.prepare(s, 2, "b")))
			b.marked(2)
			b.must(s.Commit(b.ctx, b.prepare(s, 3, "c")))
			b.must(s.Commit(b.ctx, b.prepare(s, 4, "d")))
			if fault.Hits() == 0 {
				t.Fatal("the fault was not met")
			}
			b.marked(4)
			b.expect("a", "b", "c", "d")
		})
	}
}

// A topic of delivery none that takes nothing holds up neither the other sinks nor itself: what finds no room is lost and counted.
func TestNoneHoldsUpNobody(t *testing.T) {
	b, fake := newFakeBed(t)
	loose := b.out + "-loose"
	b.CreateTopic(t, loose, 1)
	fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: loose, Err: kerr.NotLeaderForPartition, Count: -1})
	cfg := b.config()
	cfg.Topics = append(cfg.Topics, engine.SinkSpec{Topic: loose, Deliver: engine.None})
	s := b.sink(b.cluster, cfg).(*sink)
	big := slab(1, make([]string, roomBytes/1000)...)
	b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
	b.must(s.Begin(b.ctx, 2))
	const slabs = 50
	for range slabs {
		b.must(s.Write(b.ctx, &record.Slab{Sink: 1, Data: big.Data, Records: big.Records}))
	}
	b.must(s.Write(b.ctx, slab(0, "b")))
	c, _, err := s.Prepare(b.ctx, 2, b.at(2))
	b.must(err)
	b.must(s.Commit(b.ctx, c))
	b.expect("a", "b")
	if n := s.lanes[1].lost.total(); n == 0 || n%int64(len(big.Records)) != 0 || n >= slabs*int64(len(big.Records)) {
		t.Errorf("%d records are counted as lost, want some slabs of %d", n, len(big.Records))
	}
}

// One failed record, or one failed partition of a marker, fails the transaction; it can be aborted, and nothing shows.
func TestFailuresOfPrepare(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault kfake.Fault
		kind  failure.Kind
		parts []string
	}{
		{"record", kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.UnknownServerError}, failure.Transient, []string{"-out"}},
		{"record refused", kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidRecord}, failure.Record, []string{"-out", `"k0"`, "compacted"}},
		{"record too large for the broker", kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.MessageTooLarge}, failure.Record, []string{"-out", "too large"}},
		{"no right to write", kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed}, failure.Cluster, []string{"-out", "the program needs WRITE on topic ", "--operation WRITE --topic "}},
		{"fenced", kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidProducerEpoch}, failure.Fenced, []string{"-out", "another copy"}},
		{"id expired", kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidProducerIDMapping}, failure.Transient, []string{"-out", "transactional.id.expiration.ms"}},
		{"one partition of the marker", kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Partitions: []int32{1}, Err: kerr.UnknownServerError}, failure.Transient, []string{"-in, partition 1"}},
		{"no right to the group", kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.GroupAuthorizationFailed}, failure.Cluster, []string{"marker of checkpoint 2", "the program needs READ on group ", "--operation READ --group "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, fake := newFakeBed(t)
			s := b.sink(b.cluster, b.config())
			b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
			fault := fake.Fault(c.fault)
			b.must(s.Begin(b.ctx, 2))
			err := s.Write(b.ctx, slab(0, "b"))
			if err == nil {
				_, _, err = s.Prepare(b.ctx, 2, b.at(2))
			}
			wantKind(t, err, c.kind, c.parts...)
			if text := failure.Shown(err); c.kind == failure.Record && (strings.Contains(text, `"k0"`) || !strings.Contains(text, c.parts[0])) {
				t.Errorf("everybody can read %q", text)
			}
			if fault.Hits() == 0 {
				t.Error("the fault was not met")
			}
			b.must(s.Abort(b.ctx))
			b.marked(1)
			b.expect("a")
		})
	}
}

// After an answer that leaves the outcome open the sink does not go on, and the marker tells what happened.
func TestUndecidedCommit(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.ProducerFenced, kerr.InvalidTxnState, kerr.InvalidProducerIDMapping, kerr.InvalidProducerEpoch} {
		t.Run(code.Message, func(t *testing.T) {
			b, fake := newFakeBed(t)
			s := b.sink(b.cluster, b.config())
			b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
			two := b.prepare(s, 2, "b")
			fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: code, Count: 2})
			kind := failure.Fenced
			if code == kerr.InvalidProducerIDMapping { // it may have expired: a start finds out
				kind = failure.Transient
			}
			wantKind(t, s.Commit(b.ctx, two), kind, "checkpoint 2", two.TransactionalID)
			wantKind(t, s.Begin(b.ctx, 3), kind)
			outcome, err := b.cluster.EndTxn(b.ctx, two)
			b.must(err)
			if outcome != engine.Undecided {
				t.Errorf("outcome %v", outcome)
			}
			s.Close()
			if outcome, err = b.cluster.EndTxn(b.ctx, two); err != nil || outcome != engine.CommittedNow {
				t.Errorf("without the fault: %v, %v", outcome, err)
			}
			b.marked(2)
			b.expect("a", "b")
		})
	}
}

// Records that were acknowledged under another epoch than the transaction's are not of it: the broker has
// aborted them, or will. The client moves its epoch by itself when a topic loses its beginning.
func TestRecordOfAnotherEpoch(t *testing.T) {
	b := newBed(t, 2)
	s := b.sink(b.cluster, b.config()).(*sink)
	b.write(s, 1, "a")
	p := s.current
	f := newFlight(func(*flight) {})
	f.load(slab(0, "b"), &s.lanes[0], &p.tally, 0)
	p.tally.sent++
	f.answered(&kgo.Record{ProducerID: p.txn.producer, ProducerEpoch: p.txn.epoch + 1}, nil)
	_, _, err := s.Prepare(b.ctx, 1, b.at(1))
	wantKind(t, err, failure.Transient, b.out, "the transaction is of producer")
}

// A broker that restarts between Prepare and Commit, or during it, costs time only.
func TestBrokerRestart(t *testing.T) {
	b := newBed(t, 2)
	s := b.sink(b.cluster, b.config())
	one := b.prepare(s, 1, "a")
	b.write(s, 2, "b")
	b.Stop(t)
	committed := make(chan error)
	go func() { committed <- s.Commit(b.ctx, one) }()
	b.Restart(t)
	if err := <-committed; err != nil {
		// It may also give up: then the next start commits.
		wantKind(t, err, failure.Transient, "checkpoint 1")
		outcome, err := b.cluster.EndTxn(b.ctx, one)
		b.must(err)
		if outcome != engine.CommittedNow {
			t.Fatalf("outcome %v", outcome)
		}
		b.must(s.Abort(b.ctx))
		b.marked(1)
		b.expect("a")
		return
	}
	two, _, err := s.Prepare(b.ctx, 2, b.at(2))
	b.must(err)
	b.must(s.Commit(b.ctx, two))
	b.marked(2)
	b.expect("a", "b")
}
