package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/verify"
)

// copies is a pipeline that copies records to a topic, but for those that begin with a minus.
func copies() rt.Pipeline {
	return rt.Pipeline{
		Name: "copies", File: "copies.eo", Checkpoint: 20 * rt.Millisecond, Parallelism: 1,
		TxnPrefix: rt.Setting{Text: "copies"}, TxnTimeout: 2 * rt.Minute, RestartMin: rt.Millisecond, RestartMax: rt.Second,
		State: []rt.StateForm{{ID: "in", Place: "copies.eo:1", Form: "in"}},
		Graph: []rt.Node{
			{ID: "in", Kind: "source", Place: "copies.eo:1", Out: []rt.Edge{{To: "s/where"}}},
			{ID: "s/where", Kind: "filter", Place: "copies.eo:2", Out: []rt.Edge{{To: "out"}}},
			{ID: "out", Kind: "sink", Place: "copies.eo:3"},
		},
		Build: func(t *rt.Task) {
			var out *rt.Sink
			where := t.Clause("s/where", "copies.eo:2")
			t.Source(rt.SourceSpec{Name: "in", Place: "copies.eo:1", Topic: rt.Setting{Text: "in"}}, func(in *rt.Batch) {
				for in.Next() {
					v := in.Value()
					if bytes.HasPrefix(v, []byte("-")) {
						where.Filter(in)
						continue
					}
					out.End(append(out.Begin(v), v...), 0)
				}
			})
			out = t.Sink(rt.SinkSpec{Name: "out", Place: "copies.eo:3", Topic: rt.Setting{Text: "out"}})
		},
	}
}

// bed is a broker that does as it is told, and the pipeline beside it.
type bed struct {
	*kafkatest.Liar
	t    *testing.T
	dir  string
	sent int
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{Liar: kafkatest.StartLiar(t), t: t, dir: filepath.Join(t.TempDir(), "state")}
	b.CreateTopic(t, "in", 2)
	b.CreateTopic(t, "out", 2)
	return b
}

// feed writes n records to the input, of which every fifth is filtered.
func (b *bed) feed(n int) {
	b.t.Helper()
	var list []kafkatest.Record
	for range n {
		b.sent++
		value := fmt.Sprint("v", b.sent)
		if b.sent%5 == 0 {
			value = "-"
		}
		list = append(list, kafkatest.Record{Partition: int32(b.sent % 2), Value: []byte(value)})
	}
	b.Produce(b.t, "in", list...)
}

// run runs the pipeline until the output has so many committed records; while is called then, and the pipeline stopped behind it.
func (b *bed) run(want int, while func()) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- rt.Run(ctx, copies(), rt.Config{Brokers: []string{b.Addr}, StateDir: b.dir, Logger: slog.New(slog.NewTextHandler(b.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
	}()
	for len(b.ReadCommitted(b.t, "out")) < want {
		select {
		case err := <-ended:
			b.t.Fatalf("with %d records committed of %d: %v", len(b.ReadCommitted(b.t, "out")), want, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	if while != nil {
		while()
	}
	cancel()
	if err := <-ended; err != nil {
		b.t.Fatal(err)
	}
}

// spoil feeds records and has the broker spoil a batch of theirs, so that there are so many more than there should be. If another batch of the transaction comes behind
// it, the broker notices by its sequence, and the transaction is made again as it should be: then it is tried once more.
func (b *bed) spoil(how func() *atomic.Bool, more int) {
	b.t.Helper()
	const tries = 20
	for range tries {
		done := how()
		b.feed(20)
		b.run(b.sent*4/5+min(more, 0), nil)
		if !done.Load() {
			b.t.Fatal("no batch was spoiled")
		}
		if len(b.ReadCommitted(b.t, "out")) == b.sent*4/5+more {
			return
		}
	}
	b.t.Fatalf("the broker has noticed it %d times", tries)
}

// verify runs the verb.
func (b *bed) verify(change ...func(*settings.Settings)) *verify.Report {
	b.t.Helper()
	spec, err := copies().Spec(func(string) (string, bool) { return "", false })
	if err != nil {
		b.t.Fatal(err)
	}
	set := settings.Settings{Name: "copies", Brokers: []string{b.Addr}, StateDir: b.dir}
	for _, c := range change {
		c(&set)
	}
	cfg := verify.Config{Settings: set, Spec: spec, Graph: copies().Graph, State: state.Options{Pipeline: "copies", Forms: spec.State}}
	r, err := verify.Run(b.t.Context(), cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	var text, data bytes.Buffer
	if err := r.Print(&text, false, false); err != nil {
		b.t.Fatal(err)
	}
	b.t.Logf("\n%s", &text)
	var back verify.Report
	if err := r.Print(&data, true, true); err != nil || json.Unmarshal(data.Bytes(), &back) != nil || fmt.Sprint(back) != fmt.Sprint(*r) {
		b.t.Errorf("as JSON it is not the same: %v\n%s", err, &data)
	}
	return r
}

// expect wants a verdict, and texts in what is said of the partitions of the sink.
func (b *bed) expect(r *verify.Report, want verify.Verdict, texts ...string) {
	b.t.Helper()
	if r.Verdict != want {
		b.t.Errorf("verdict %s, want %s", r.Verdict, want)
	}
	said := ""
	for _, s := range r.Sinks {
		said += s.Text + " → " + s.Help + "\n"
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			b.t.Errorf("%q is not said", text)
		}
	}
}

func shared(s *settings.Settings) { s.Shared = true }
func kept(s *settings.Settings)   { s.SinceKept = true }

// What holds holds: before the first record, beside the running program, behind a stop and several starts, and with all counts.
func TestHolds(t *testing.T) {
	b := newBed(t)
	b.Produce(t, "out", kafkatest.Record{Value: []byte("older than the pipeline")})
	b.feed(20)
	b.run(1+16, func() { b.expect(b.verify(), verify.Holds, "are there") })
	b.expect(b.verify(), verify.Holds, "are there")
	for range 3 {
		b.feed(20)
		b.run(1+b.sent*4/5, nil)
	}
	r := b.verify()
	b.expect(r, verify.Holds)
	found, read, filtered := int64(0), int64(0), int64(0)
	for _, s := range r.Sinks {
		found += s.Found
	}
	for _, s := range r.Sources {
		read, filtered = read+s.Counts["read"], filtered+s.Counts["filtered"]
	}
	if found != 64 || read != 80 || filtered != 16 {
		t.Errorf("found %d, read %d, filtered %d", found, read, filtered)
	}
}

// A broker that acknowledges a record, commits its transaction and does not have it is found, at the end and when more has come behind.
func TestLostRecord(t *testing.T) {
	b := newBed(t)
	b.spoil(b.LoseOne, -1)
	b.expect(b.verify(), verify.Differs, "1 is missing", "the brokers have lost records of committed transactions")
	b.feed(20)
	b.run(b.sent*4/5-1, nil)
	b.expect(b.verify(), verify.Differs, "1 is missing")
	b.expect(b.verify(shared), verify.Differs, "1 is missing")
}

// So is one that has a record twice.
func TestDoubledRecord(t *testing.T) {
	b := newBed(t)
	b.spoil(b.DoubleOne, 1)
	b.expect(b.verify(), verify.Differs, "1 committed record of the pipeline's own producers stands behind its last checkpoint")
	for range 2 { // until there are more records in each partition
		b.feed(40)
		b.run(1+b.sent*4/5, nil)
	}
	b.expect(b.verify(), verify.Differs, "1 too many", "consumers get them twice")
}

// A record of somebody else is found behind the last of the pipeline and between them. It is no fault if it was said that there may be some.
func TestForeignRecord(t *testing.T) {
	b := newBed(t)
	b.feed(20)
	b.run(16, nil)
	b.expect(b.verify(), verify.Holds)
	b.Produce(t, "out", kafkatest.Record{Partition: 1, Value: []byte("foreign")})
	b.expect(b.verify(), verify.Differs, "1 record of other producers", "a second pipeline with this sink doubles its results")
	b.expect(b.verify(shared), verify.Holds, "besides 1 of other producers")
	b.feed(20)
	b.run(33, nil)
	b.expect(b.verify(), verify.Differs, "1 record of other producers")
	b.expect(b.verify(shared), verify.Holds, "besides 1 of other producers")
}

// A transaction under the pipeline's own id that no checkpoint knows is found: that is what a second copy would leave, were it not fenced.
func TestTransactionWithoutCheckpoint(t *testing.T) {
	b := newBed(t)
	b.feed(20)
	b.run(16, nil)
	txn := b.OpenTxn(t, "copies-1", "out", kafkatest.Record{Partition: 0, Value: []byte("zombie")})
	b.expect(b.verify(), verify.Holds) // an open one is not visible, and behind all that is committed
	if err := txn.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.expect(b.verify(), verify.Differs, "behind its last checkpoint")
	b.expect(b.verify(shared), verify.Differs, "behind its last checkpoint")
}

// An old copy of the state is no proof of anything behind it: what the pipeline has committed since is nothing that differs, whatever producers it had. What
// the copy does know is compared all the same.
func TestOldCopy(t *testing.T) {
	b := newBed(t)
	b.feed(20)
	b.run(16, nil)
	newer, old := b.dir, filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(old, os.DirFS(newer)); err != nil {
		t.Fatal(err)
	}
	b.feed(20)
	b.run(32, nil)
	b.expect(b.verify(), verify.Holds)
	b.dir = old
	r := b.verify()
	b.expect(r, verify.Unknown, "records are there up to checkpoint")
	if r.Code() != failure.Unproved {
		t.Errorf("code %d", r.Code())
	}
	b.Produce(t, "out", kafkatest.Record{Value: []byte("foreign, or of a producer that the copy does not know")})
	b.expect(b.verify(), verify.Unknown)
	b.dir = newer
	b.expect(b.verify(), verify.Differs, "1 record of other producers")
}

// What a topic does not keep cannot be compared, and that is said: never that it holds.
func TestRetention(t *testing.T) {
	b := newBed(t)
	b.feed(20)
	b.run(16, nil)
	b.feed(20)
	b.run(32, nil)
	// The account has a milestone of its first checkpoint with records; when the topic has all behind it, that is where comparing begins.
	b.DeleteRecords(t, "out", 0, 1)
	b.expect(b.verify(), verify.Unknown, "the topic does not keep what was written before", "--since kept")
	b.expect(b.verify(kept), verify.Holds, "are there")
	b.expect(b.verify(func(s *settings.Settings) { s.Since = 1 }), verify.Holds, "are there")
	b.expect(b.verify(func(s *settings.Settings) { s.Since = 1 << 40 }), verify.Unknown, "name an earlier one")
	b.DeleteRecords(t, "out", 0, b.firstMilestone(0)+1)
	b.expect(b.verify(), verify.Unknown, "behind the last place at which comparing can begin")
	b.expect(b.verify(kept), verify.Unknown, "behind the last place at which comparing can begin")
	b.DeleteTopic(t, "out")
	b.expect(b.verify(), verify.Unknown, "the topic does not exist any more")
	b.CreateTopic(t, "out", 2)
	b.expect(b.verify(), verify.Unknown, "was deleted and made again")
}

// firstMilestone is the offset behind the last record of the first checkpoint with records.
func (b *bed) firstMilestone(partition int) int64 {
	b.t.Helper()
	v, err := state.Look(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	return v.Newest.Account.Milestones[0].Tallies[partition].Next
}

// A marker that has gone back is found. One that is late is waited for.
func TestMarkerGoesBack(t *testing.T) {
	b := newBed(t)
	b.feed(20)
	b.run(16, nil)
	older := b.KeepGroup(t, "eo-copies")
	b.feed(20)
	b.run(32, nil)
	newest := b.KeepGroup(t, "eo-copies")
	if err := older(); err != nil {
		t.Fatal(err)
	}
	r := b.verify()
	b.expect(r, verify.Differs)
	if text := r.Checks[0].Text; !strings.Contains(text, "although checkpoint") {
		t.Errorf("%+v", r.Checks)
	}
	proxy := faultproxy.Start(t, b.Addr)
	const offsetFetch faultproxy.Key = 9
	looks, again := 0, make(chan struct{})
	held := proxy.Arm(faultproxy.Fault{Key: offsetFetch, Count: -1, Do: faultproxy.Hold, When: func(*faultproxy.Request) bool {
		if looks++; looks == 2 {
			close(again)
		}
		return looks > 1
	}})
	put := make(chan error, 1)
	go func() { // the second look, or what it is tried again with, finds the marker, however long that takes
		select {
		case <-again:
			err := newest()
			_, failed := held.Release(t.Context())
			put <- errors.Join(err, failed)
		case <-t.Context().Done():
		}
	}()
	r = b.verify(func(s *settings.Settings) { s.Brokers = []string{proxy.Addr()} })
	select {
	case err := <-put:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it has not looked at the marker twice")
	}
	b.expect(r, verify.Holds)
	if text := r.Checks[0].Text; !strings.Contains(text, "as the state has it") {
		t.Errorf("%+v", r.Checks)
	}
}

// A topic that has got another partition while the pipeline rested has what the pipeline writes there from then on; one that got it while it ran, too.
func TestGrownTopic(t *testing.T) {
	b := newBed(t)
	b.Produce(t, "out", kafkatest.Record{Value: []byte("before the pipeline")})
	b.feed(20)
	b.run(1+16, nil)
	b.AddPartitions(t, "out", 3)
	b.Produce(t, "out", kafkatest.Record{Partition: 2, Value: []byte("before the pipeline knew it")})
	b.feed(60)
	b.run(2+64, nil)
	r := b.verify()
	b.expect(r, verify.Holds)
	if len(r.Sinks) != 3 || r.Sinks[2].Found == 0 || r.Sinks[2].From != 1 {
		t.Errorf("%+v", r.Sinks)
	}
}

// A topic that was deleted and made again while the pipeline rested is not comparable until the pipeline has run with it, and from then on the new one is.
func TestDeletedTopic(t *testing.T) {
	b := newBed(t)
	b.feed(20)
	b.run(16, nil)
	b.DeleteTopic(t, "out")
	b.expect(b.verify(), verify.Unknown, "does not exist any more", "make it again")
	b.CreateTopic(t, "out", 2)
	b.expect(b.verify(), verify.Unknown, "deleted and made again", "start the program once")
	b.feed(60)
	b.run(48, nil)
	r := b.verify()
	b.expect(r, verify.Holds, "records that were written to the one before")
	if len(r.Sinks) != 4 || r.Sinks[0].Verdict != verify.Unchecked || r.Sinks[2].Verdict != verify.Holds || r.Sinks[2].Found+r.Sinks[3].Found != 48 {
		t.Errorf("%+v", r.Sinks)
	}
}

// A partition that ends before the last record that was acknowledged has lost it, and one that is held by an open transaction of somebody
// else is not known.
func TestReadersAreHeldBack(t *testing.T) {
	b := newBed(t)
	b.feed(20)
	txn := b.OpenTxn(t, "other", "out", kafkatest.Record{Partition: 0, Value: []byte("held")})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- rt.Run(ctx, copies(), rt.Config{Brokers: []string{b.Addr}, StateDir: b.dir, Logger: slog.New(slog.DiscardHandler)})
	}()
	for {
		v, err := state.Look(b.dir)
		if err != nil {
			t.Fatal(err)
		}
		if v != nil && v.Newest != nil && v.Newest.Partitions[0].Next+v.Newest.Partitions[1].Next == 20 {
			break
		}
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	b.expect(b.verify(), verify.Unknown, "an open transaction of somebody else", "transactional id other", "holds readers of committed records back")
	if err := txn.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.expect(b.verify(), verify.Holds)
}

// Ctrl-C ends it at once.
func TestInterrupted(t *testing.T) {
	b := newBed(t)
	b.feed(20)
	b.run(16, nil)
	ctx, cancel := context.WithCancel(t.Context())
	spec, err := copies().Spec(func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	cfg := verify.Config{Settings: settings.Settings{Name: "copies", Brokers: []string{b.Addr}, StateDir: b.dir}, Spec: spec, Graph: copies().Graph,
		State: state.Options{Pipeline: "copies", Forms: spec.State}, Progress: func(int64, int64) { cancel() }}
	if r, err := verify.Run(ctx, cfg); err == nil && ctx.Err() == nil {
		t.Errorf("it was not interrupted: %+v", r)
	}
	cancel()
	if _, err := verify.Run(ctx, cfg); err == nil {
		t.Error("it went on although it was told to end")
	}
}
