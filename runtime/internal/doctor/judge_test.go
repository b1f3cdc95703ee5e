package doctor

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// judged is the only check that a judge makes.
func judged(t *testing.T, judge func(x *exam)) Check {
	t.Helper()
	x := &exam{report: &Report{}, place: &state.Place{}}
	judge(x)
	if len(x.report.Checks) != 1 {
		t.Fatalf("%+v", x.report.Checks)
	}
	return x.report.Checks[0]
}

func TestClock(t *testing.T) {
	const ms, s, h = time.Millisecond, time.Second, time.Hour
	for _, c := range []struct {
		least, most time.Duration
		want        Result
		text        string
	}{
		{-2 * ms, 3 * ms, OK, "less than 3ms apart"},
		{400 * ms, 500 * ms, OK, "less than 500ms apart"},
		{2 * s, 2*s + 5*ms, OK, "2s ahead of this"},
		{-3 * s, -2 * s, OK, "2s behind this"},
		{10 * s, 11 * s, Warning, "10s ahead of this"},
		{-61 * s, -60 * s, Warning, "1m0s behind this"},
		{h, h + s, Failure, "1h0m ahead of this"},
		{-2*h - s, -2 * h, Failure, "2h0m behind this"},
		{-2 * h, 2 * h, Unknown, "the answer took 4h0m"},
	} {
		got := judged(t, func(x *exam) { x.judgeClock(c.least, c.most) })
		if got.Result != c.want || !strings.Contains(got.Text, c.text) {
			t.Errorf("%v to %v: %+v", c.least, c.most, got)
		}
	}
}

func TestRoom(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		free, live int64
		want       Result
	}{
		{state.Unknown, 0, Unknown}, {64 * mib, 0, OK}, {63 * mib, 0, Warning}, {mib, 0, Failure},
		{200 * mib, 100 * mib, OK}, {199 * mib, 100 * mib, Warning}, {99 * mib, 100 * mib, Failure},
	} {
		got := judged(t, func(x *exam) {
			x.place.Free, x.view = c.free, &state.View{Live: c.live}
			x.room()
		})
		if got.Result != c.want || c.want == Failure && got.Code != int(failure.Disk) {
			t.Errorf("%d free, %d in use: %+v", c.free, c.live, got)
		}
	}
}

// A port that somebody has is a failure with the code of a start.
func TestPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		address string
		use     state.Use
		want    Result
		text    string
	}{
		{"", state.Free, OK, "nothing is served"},
		{"127.0.0.1:0", state.Free, OK, "can be had"},
		{taken.Addr().String(), state.Free, Failure, "address already in use"},
		{taken.Addr().String(), state.InUse, OK, "the running program's"},
	} {
		got := judged(t, func(x *exam) {
			x.Settings.HTTP, x.place.Use = c.address, c.use
			x.http()
		})
		if got.Result != c.want || !strings.Contains(got.Text, c.text) || c.want == Failure && got.Code != int(failure.Usage) {
			t.Errorf("%q: %+v", c.address, got)
		}
	}
}

// What brokers remember of ids that are not used.
func TestForgottenIDs(t *testing.T) {
	const hour = "3600000"
	exactly := &engine.Engine{Spec: &engine.Spec{TxnPrefix: "p", Sinks: []engine.SinkSpec{{Topic: "t"}}}}
	at := func(ago time.Duration, confirmed bool) *state.View {
		return &state.View{Newest: &checkpoint.Checkpoint{}, Confirmed: confirmed, Written: time.Now().Add(-ago)}
	}
	for _, c := range []struct {
		keep string
		view *state.View
		want Result
		text string
	}{
		{"", nil, Unknown, "is not shown"},
		{hour, nil, OK, "is 1h0m: so long brokers know the ids"},
		{"60000", nil, Warning, "loses its ids"},
		{hour, at(2*time.Hour, true), OK, "behind that the marker alone decides"},
		{hour, at(2*time.Hour, false), Warning, "the marker alone says whether it was committed"},
		{hour, at(time.Minute, false), OK, "so long brokers know the ids"},
	} {
		got := judged(t, func(x *exam) {
			x.engine, x.view, x.brokers = exactly, c.view, kafka.Values{"transactional.id.expiration.ms": c.keep}
			x.forgets()
		})
		if got.Result != c.want || !strings.Contains(got.Text, c.text) {
			t.Errorf("%s, %+v: %+v", c.keep, c.view, got)
		}
	}
}

// Transactions that nothing will end any more: the pipeline's own may hold results, those of others do not.
func TestHangingTransactions(t *testing.T) {
	hold := func(producer int64, owner *engine.Owner) engine.Held {
		if owner != nil {
			owner.ProducerID, owner.Epoch, owner.State = producer, 2, "Ongoing"
		}
		return engine.Held{Topic: "t", Partition: 1, Stable: 7, End: 10, Holds: []engine.Hold{{Topic: "t", Partition: 1, Producer: producer, Epoch: 2, First: 7, Owner: owner}}}
	}
	owner := func(id string, ago time.Duration) *engine.Owner {
		return &engine.Owner{ID: id, Since: time.Now().Add(-ago), Timeout: time.Minute}
	}
	untold := func(producer int64) engine.Held {
		h := hold(producer, nil)
		h.Holds[0].Untold = errors.New("broker 2 does not tell")
		return h
	}
	for _, c := range []struct {
		held engine.Held
		want Result
		text string
	}{
		{hold(5, nil), Warning, "kafka-transactions.sh --bootstrap-server b:9092 abort --topic t --partition 1 --start-offset 7"},
		{hold(8, nil), Warning, "txn repair"},
		{hold(5, owner("other", time.Hour)), Warning, "nothing is known that will end it"},
		{hold(5, owner("other", 0)), OK, "which its coordinator ends"},
		{hold(8, owner("p-0", 0)), Warning, "a start ends it"},
		{untold(5), Unknown, "whose it is is not known (broker 2 does not tell)), so whether it ends is not known either"},
		{untold(8), Unknown, "with 3 offsets behind it"},
		{engine.Held{Topic: "t", Partition: 1, Stable: 7, End: 10, Denied: errors.New("no right")}, Unknown, "the cluster does not tell what holds them: no right"},
	} {
		got := judged(t, func(x *exam) {
			x.engine = &engine.Engine{Spec: &engine.Spec{TxnPrefix: "p", Sinks: []engine.SinkSpec{{Topic: "t"}}}}
			x.Settings.Brokers = []string{"b:9092"}
			x.view = &state.View{Newest: &checkpoint.Checkpoint{Account: &checkpoint.Account{Producers: []checkpoint.Producer{{ID: 8, Last: 3}}}}}
			x.held(0, c.held)
		})
		if got.Result != c.want || !strings.Contains(got.Text+got.Help, c.text) {
			t.Errorf("%+v: %+v", c.held, got)
		}
	}
}

// A state file that is damaged, and stays so, is no sign of a program that runs elsewhere; one that comes, goes or cannot be
// read any more is.
func TestMoved(t *testing.T) {
	damaged, empty := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, "state.db"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		dir     string
		before  *state.View
		damaged bool
		want    bool
	}{
		{"damaged as before", damaged, nil, true, false},
		{"damaged now", damaged, &state.View{}, false, true},
		{"none as before", empty, nil, false, false},
		{"gone now", empty, &state.View{}, false, true},
	} {
		x := &exam{place: &state.Place{Dir: c.dir}, view: c.before, damaged: c.damaged}
		if got := x.moved(); got != c.want {
			t.Errorf("%s: moved %t", c.name, got)
		}
	}
}

// With --fresh a damaged file is a warning, without it a failure.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state.db"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for fresh, want := range map[bool]Result{true: Warning, false: Failure} {
		got := judged(t, func(x *exam) {
			x.place.Dir, x.Settings.Fresh = dir, fresh
			x.contents()
		})
		if got.Result != want || (got.Code == 0) != fresh || strings.Contains(got.Help, "--fresh begins anew") != fresh {
			t.Errorf("fresh %t: %+v", fresh, got)
		}
	}
}
