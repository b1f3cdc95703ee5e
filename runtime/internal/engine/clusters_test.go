package engine

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// newFarEngine runs the fake pipeline with its source in one cluster and its sink in another.
func newFarEngine(source, sink *fakeCluster, s Store, until checkpoint.Until) *Engine {
	e := newFakeEngine(sink, s, 2, until)
	e.Spec.Sources[0].Connection = 1
	e.Open = func(_ context.Context, connection int) (Cluster, error) {
		return []*fakeCluster{sink, source}[connection], nil
	}
	return e
}

// newFar makes a cluster with the topic in alone, and one with the topic out alone.
func newFar(partitions int) (source, sink *fakeCluster) {
	source, sink = newFakeCluster(partitions), newFakeCluster(1)
	source.id = "far"
	delete(source.topics, "out")
	delete(sink.topics, "in")
	return source, sink
}

// checkFar compares the results with what the source has.
func checkFar(t *testing.T, source, sink *fakeCluster) {
	t.Helper()
	if got, want := sink.committed(), source.expected("in"); !slices.Equal(got, want) || len(want) == 0 {
		t.Fatalf("%d results, want %d\ngot  %q\nwant %q", len(got), len(want), got, want)
	}
}

// askedOnly fails if a cluster was asked for anything else.
func askedOnly(t *testing.T, name string, c *fakeCluster, calls ...string) {
	t.Helper()
	for call := range maps.Keys(c.calls) {
		if !slices.Contains(calls, call) {
			t.Errorf("the cluster of the %s was asked for %s", name, call)
		}
	}
}

// TestFarSource has no source where the sink is. Each cluster is asked for what it has, the marker stands at the sink, and
// the source's cluster is told how far it was read.
func TestFarSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newFar(3)
		store := newFakeStore()
		feed(source, rand.New(rand.NewPCG(1, 2)), 3, 1000)
		run := start(t, newFarEngine(source, sink, store, checkpoint.Until{}))
		time.Sleep(time.Second)
		run.end(t)
		if run := start(t, newFarEngine(source, sink, store, checkpoint.Until{})); true { // goes on, with nothing new
			time.Sleep(time.Second)
			run.end(t)
		}
		askedOnly(t, "source", source, "Topics", "First", "End", "LastStable", "Poll", "Marker", "CommitOffsets")
		askedOnly(t, "sink", sink, "End of the output", "LastStable of the output", "Topics", "Marker", "Fence", "EndTxn", "NewSink", "Begin", "Write", "Prepare", "Commit", "Abort", "Close")
		last, _, confirmed, _ := store.Load()
		if want := (Position{Source: -1, Topic: "out", TopicID: checkpoint.ID{2}, Next: last.Number}); !confirmed || !slices.Equal(sink.marked, []Position{want}) {
			t.Errorf("the marker stands at %+v, want %+v", sink.marked, want)
		}
		if want := (checkpoint.Anchor{Topic: "out", TopicID: checkpoint.ID{2}}); last.Anchor == nil || *last.Anchor != want {
			t.Errorf("the state says that it stands at %+v", last.Anchor)
		}
		for _, p := range last.Partitions {
			if end := int64(len(source.topics["in"].parts[p.ID])); p.Cluster != "far" || p.Next != end || source.lag[p.ID] != end {
				t.Errorf("the state has %+v, tools see %d, want %d in far", p, source.lag[p.ID], end)
			}
		}
	})
}

// TestFarSourceResults ends a bounded run, with restarts on the way for whatever either cluster fails at.
func TestFarSourceResults(t *testing.T) {
	for _, fails := range []string{"", "Topics", "First", "Poll", "Begin", "Write", "Prepare", "Commit", "CommitOffsets"} {
		synctest.Test(t, func(t *testing.T) {
			source, sink := newFar(3)
			feed(source, rand.New(rand.NewPCG(1, 2)), 3, 1000)
			e := newFarEngine(source, sink, newFakeStore(), checkpoint.Until{Latest: true})
			time.AfterFunc(20*time.Millisecond, func() {
				for _, c := range []*fakeCluster{source, sink} {
					c.set(func() { c.failNext[fails] = errGone })
				}
			})
			if err := e.Run(t.Context(), nil); err != nil {
				t.Fatalf("%s fails: %v", fails, err)
			}
			checkFar(t, source, sink)
		})
	}
}

// TestNearAndFar reads topics of one name in both clusters. The marker stands at the positions that the sink's cluster knows.
func TestNearAndFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far, near := newFakeCluster(2), newFakeCluster(3)
		far.id = "far"
		for i := range 500 {
			near.append("in", i%3, fmt.Sprint("near", i%7), int64(1000+i))
			far.append("in", i%2, fmt.Sprint("far", i%7), int64(1000+i))
		}
		store := newFakeStore()
		e := newFarEngine(far, near, store, checkpoint.Until{Latest: true})
		e.Spec.Sources = append(e.Spec.Sources, SourceSpec{Name: "near", Topic: "in", Idle: time.Minute})
		e.Spec.Operators[0].Sources = []int{0, 1}
		if err := e.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		want := append(near.expected("in"), far.expected("in")...)
		if slices.Sort(want); !slices.Equal(near.committed(), want) {
			t.Errorf("got  %q\nwant %q", near.committed(), want)
		}
		last, _, _, _ := store.Load()
		if len(near.marked) != 3 || slices.ContainsFunc(near.marked, func(p Position) bool { return p.Source != 1 }) || last.Anchor != nil {
			t.Errorf("the marker stands at %+v, %+v", near.marked, last.Anchor)
		}
		if len(far.lag) != 2 || near.called("CommitOffsets") != 0 {
			t.Errorf("tools see %v in far; near was told %d times", far.lag, near.called("CommitOffsets"))
		}
	})
}

// TestOneClusterTwice has two connections to one cluster, as two users would: it is as with one connection.
func TestOneClusterTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newFakeCluster(2), newFakeStore()
		feed(c, rand.New(rand.NewPCG(1, 2)), 2, 500)
		e := newFarEngine(c, c, store, checkpoint.Until{Latest: true})
		if err := e.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		check(t, c)
		last, _, _, _ := store.Load()
		if len(c.marked) != 2 || last.Anchor != nil || last.Partitions[0].Cluster != "" || c.called("CommitOffsets") != 0 {
			t.Errorf("the marker stands at %+v, %+v; the state has %+v", c.marked, last.Anchor, last.Partitions[0])
		}
		e = newFarEngine(c, c, newFakeStore(), checkpoint.Until{})
		e.Spec.Sources[0].Topic = "out"
		if err := e.Run(t.Context(), nil); failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), "topic out is written () and read ()") {
			t.Errorf("its own output as input: %v", err)
		}
	})
}

// TestFarGroupIsTaken has a pipeline of the same name in the cluster of the source: its marker stays where it is.
func TestFarGroupIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newFar(2)
		source.markers["eo-fake"] = &checkpoint.Marker{Pipeline: "fake", Checkpoint: 7}
		feed(source, rand.New(rand.NewPCG(1, 2)), 2, 500)
		if err := newFarEngine(source, sink, newFakeStore(), checkpoint.Until{Latest: true}).Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		checkFar(t, source, sink)
		if source.called("Marker") == 0 || source.called("CommitOffsets") != 0 {
			t.Errorf("looked %d times, committed %d times", source.called("Marker"), source.called("CommitOffsets"))
		}
	})
}

// TestFarSourceAway loses the source's cluster when a transaction is prepared and the next one open. It is tried again until the cluster is
// there; meanwhile what is prepared is committed, nothing is open that readers would wait for, and nobody is fenced again and again.
func TestFarSourceAway(t *testing.T) {
	for _, reached := range []bool{false, true} { // there is contact, but no answer
		synctest.Test(t, func(t *testing.T) { farSourceAway(t, reached) })
	}
}

func farSourceAway(t *testing.T, reached bool) {
	source, sink := newFar(3)
	store := newFakeStore()
	e := newFarEngine(source, sink, store, checkpoint.Until{})
	var away atomic.Bool
	open := e.Open
	e.Open = func(ctx context.Context, connection int) (Cluster, error) {
		switch {
		case connection == 1 && away.Load() && reached:
			source.set(func() { source.down = errGone })
		case connection == 1 && away.Load():
			return nil, errGone
		}
		return open(ctx, connection)
	}
	run := start(t, e)
	feed(source, rand.New(rand.NewPCG(1, 2)), 3, 500)
	away.Store(true)
	sink.set(func() { sink.failNext["Commit"] = errGone })
	feed(source, rand.New(rand.NewPCG(1, 3)), 3, 500)
	time.Sleep(time.Minute)
	fenced := sink.called("Fence")
	prepared, before, confirmed, _ := store.Load()
	if !confirmed || before != nil || sink.called("EndTxn") != 1 || sink.open() != 0 {
		t.Errorf("checkpoint %d is confirmed %v after %d calls of EndTxn, %d transactions are open", prepared.Number, confirmed, sink.called("EndTxn"), sink.open())
	}
	time.Sleep(time.Hour)
	if s := e.Status(); s.Phase != Restarting || s.Restarts < 50 || sink.called("Fence") != fenced {
		t.Errorf("%v after %d restarts, fenced %d times and %d times", s.Phase, s.Restarts, fenced, sink.called("Fence"))
	}
	away.Store(false)
	source.set(func() { source.down = nil })
	time.Sleep(2 * time.Minute)
	for p := range 3 { // closes all windows
		source.append("in", p, "end", 1_000_000)
	}
	time.Sleep(2 * time.Second)
	run.end(t)
	got := sink.committed()
	want := slices.DeleteFunc(source.expected("in"), func(s string) bool { return strings.Contains(s, " end ") })
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%d results, want %d", len(got), len(want))
	}
}

// TestFarSourceReplaced finds another cluster at the source's brokers, even with a topic of the same id. It is refused like a topic that was made
// anew, and only who accepts the loss goes on, with what is there.
func TestFarSourceReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newFar(2)
		store := newFakeStore()
		feed(source, rand.New(rand.NewPCG(1, 2)), 2, 500)
		run := start(t, newFarEngine(source, sink, store, checkpoint.Until{}))
		time.Sleep(time.Second)
		run.end(t)

		other, _ := newFar(2)
		other.id = "third"
		feed(other, rand.New(rand.NewPCG(1, 3)), 2, 500)
		err := newFarEngine(other, sink, store, checkpoint.Until{}).Run(t.Context(), nil)
		if failure.KindOf(err) != failure.Lost || !strings.Contains(err.Error(), "topic in of source in is in another cluster, where offsets mean other records: it is in cluster third, the state has read it in cluster far") {
			t.Fatalf("ended with %v", err)
		}
		e := newFarEngine(other, sink, store, checkpoint.Until{})
		e.Options.AcceptLoss = true
		for range 2 { // the second time the state knows the new cluster
			run = start(t, e)
			time.Sleep(time.Second)
			run.end(t)
			e = newFarEngine(other, sink, store, checkpoint.Until{})
		}
		last, _, _, _ := store.Load()
		if p := last.Partitions[0]; p.Cluster != "third" || p.Next != int64(len(other.topics["in"].parts[0])) {
			t.Errorf("the state has %+v", p)
		}

		sink.topics["in"] = other.topics["in"] // and now the source is where the sink is
		err = newFakeEngine(sink, store, 1, checkpoint.Until{}).Run(t.Context(), nil)
		if failure.KindOf(err) != failure.Lost || !strings.Contains(err.Error(), "it is in the cluster of the sinks, the state has read it in cluster third") {
			t.Errorf("ended with %v", err)
		}
	})
}

// TestAnchorIsGone deletes the topic at which the marker stands, and with it the marker. Whether another copy has run cannot be known, and why is said.
func TestAnchorIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newFar(1)
		store := newFakeStore()
		feed(source, rand.New(rand.NewPCG(1, 2)), 1, 500)
		run := start(t, newFarEngine(source, sink, store, checkpoint.Until{}))
		time.Sleep(time.Second)
		run.end(t)
		sink.set(func() { sink.topics["out"].id = checkpoint.ID{9}; clear(sink.markers) })
		err := newFarEngine(source, sink, store, checkpoint.Until{}).Run(t.Context(), nil)
		if failure.KindOf(err) != failure.Unknown || !strings.Contains(err.Error(), "the marker stood at topic out, which was deleted and made again") || !strings.Contains(err.Error(), "--accept-loss") {
			t.Errorf("ended with %v", err)
		}
		e := newFarEngine(source, sink, store, checkpoint.Until{})
		e.Options.AcceptLoss = true
		run = start(t, e)
		time.Sleep(time.Second)
		run.end(t)
		if last, _, _, _ := store.Load(); last.Anchor == nil || last.Anchor.TopicID != (checkpoint.ID{9}) {
			t.Errorf("the state says that the marker stands at %+v", last.Anchor)
		}
	})
}
