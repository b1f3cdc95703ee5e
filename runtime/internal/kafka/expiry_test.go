package kafka

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// forgetful are settings of a broker that forgets transactional ids when they were not used for a while: seven days by default.
var forgetful = map[string]string{
	"transactional.id.expiration.ms":                              "8000", // far above what a test takes from one use to the next
	"transaction.remove.expired.transaction.cleanup.interval.ms":  "200",
	"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}

// Ids that the coordinator has forgotten while they were at rest are taken anew by a start: what was committed stays so, what was
// aborted is replayed, and nothing is refused for ever. A running sink takes none in the middle of a transaction: it ends, and the start that follows looks at the
// marker first. Between two transactions it takes them, and looks at the marker, too.
func TestIDsExpire(t *testing.T) {
	versions := []int{1} // internal/e2e lets them expire on V2
	if os.Getenv("EO_MATRIX") == "1" {
		versions = []int{1, 2}
	}
	for _, version := range versions {
		t.Run(fmt.Sprintf("V%d", version), func(t *testing.T) {
			broker := kafkatest.Start(t, kafkatest.Options{TransactionVersion: version, Settings: forgetful})
			for name, test := range map[string]func(t *testing.T, b *bed){
				"committed": committedAndForgotten, "aborted": abortedAndForgotten, "running": forgottenWhileRunning, "zombie": forgottenZombie,
				"renewing": forgottenBeforeRenewal, "zombie renewing": forgottenZombieRenewing, "at the last epoch": forgottenAtTheLastEpoch,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, newBedAt(t, broker))
				})
			}
		})
	}
}

// forgotten waits until the coordinator knows neither id.
func (b *bed) forgotten() {
	b.t.Helper()
	for _, id := range b.ids {
		b.state(id, "")
	}
}

func committedAndForgotten(t *testing.T, b *bed) {
	s := b.sink(b.cluster, b.config())
	b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
	two := b.prepare(s, 2, "b")
	s.Close()
	if outcome, err := b.cluster.EndTxn(b.ctx, two); err != nil || outcome != engine.CommittedNow {
		t.Fatalf("outcome %v, %v", outcome, err)
	}
	b.forgotten() // before it is known to be committed
	if !b.finish(b.cluster, two) {
		t.Error("what is committed counts as aborted")
	}
	goOn(b, 3, "a", "b")
}

func abortedAndForgotten(t *testing.T, b *bed) {
	s := b.sink(b.cluster, b.config())
	b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
	two := b.prepare(s, 2, "b")
	s.Close()
	b.fence(b.cluster) // as the broker does when its time is up; before that it forgets no id
	b.forgotten()
	if b.finish(b.cluster, two) {
		t.Error("what is aborted counts as committed")
	}
	goOn(b, 2, "a")
}

func forgottenWhileRunning(t *testing.T, b *bed) {
	s := b.sink(b.cluster, b.config())
	b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
	b.forgotten()
	err := s.Begin(b.ctx, 2)
	if err == nil {
		if err = s.Write(b.ctx, slab(0, "b")); err == nil {
			_, _, err = s.Prepare(b.ctx, 2, b.at(2))
		}
	}
	wantKind(t, err, failure.Transient, "transactional.id.expiration.ms", "takes it anew")
	b.must(s.Abort(b.ctx))
	b.fence(b.cluster)
	goOn(b, 2, "a")
}

// forgottenZombie: a copy that was taken over, and whose id was forgotten since, ends as well. Only a start may take the id, and
// that finds that it is behind.
func forgottenZombie(t *testing.T, b *bed) {
	zombie := b.sink(b.cluster, b.config())
	b.must(zombie.Commit(b.ctx, b.prepare(zombie, 1, "a")))
	b.must(zombie.Begin(b.ctx, 2))
	c := b.open()
	b.fence(c)
	successor := b.sink(c, b.config())
	b.must(successor.Commit(b.ctx, b.prepare(successor, 2, "B")))
	successor.Close()
	b.forgotten()
	err := zombie.Write(b.ctx, slab(0, "zombie"))
	if err == nil {
		_, _, err = zombie.Prepare(b.ctx, 2, b.at(2))
	}
	if err == nil {
		t.Fatal("a copy that was taken over goes on when its id is forgotten")
	}
	b.must(zombie.Abort(b.ctx))
	b.marked(2)
	b.fence(b.cluster)
	goOn(b, 3, "a", "B")
}

// standing is a sink that has committed transactions 1 and 2, and stands in front of the renewal of both producers until wake.
func (b *bed) standing() (s *sink, wake func()) {
	s = b.sink(b.cluster, b.config()).(*sink)
	s.renewing.Lock()
	wake = sync.OnceFunc(s.renewing.Unlock)
	b.t.Cleanup(wake)
	b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
	b.must(s.Commit(b.ctx, b.prepare(s, 2, "b")))
	return s, wake
}

// forgottenBeforeRenewal: the ids are forgotten between a commit and the renewal of its producer, which gets new ones as anybody would.
func forgottenBeforeRenewal(t *testing.T, b *bed) {
	s, wake := b.standing()
	b.forgotten()
	wake()
	wantKind(t, s.Begin(b.ctx, 3), failure.Transient, b.ids[1], "transactional.id.expiration.ms")
	s.Close()
	b.fence(b.cluster)
	goOn(b, 3, "a", "b")
}

// forgottenZombieRenewing is that with a successor, of which the coordinator knows nothing more.
func forgottenZombieRenewing(t *testing.T, b *bed) {
	zombie, wake := b.standing()
	b.succeeded().Close()
	b.forgotten()
	wake()
	wantKind(t, zombie.Begin(b.ctx, 3), failure.Transient, b.ids[1])
	b.expect("a", "b", "C", "D")
	b.marked(4)
}

// forgottenAtTheLastEpoch is that with an id that has no epoch left: then it gets another producer id in any case, and the group's marker says that it is behind.
func forgottenAtTheLastEpoch(t *testing.T, b *bed) {
	zombie, _ := b.standing()
	b.succeeded().Close()
	b.forgotten()
	last := zombie.held[1]
	last.epoch = lastEpoch
	_, err := zombie.takeAgain(1, &producer{}, last)
	wantKind(t, err, failure.Fenced, b.ids[1], "checkpoint 4")
}

// goOn writes transaction n under the ids, and expects it behind what is committed.
func goOn(b *bed, n int64, before ...string) {
	b.t.Helper()
	s := b.sink(b.cluster, b.config())
	b.must(s.Commit(b.ctx, b.prepare(s, n, "last")))
	b.expect(append(before, "last")...)
	b.marked(n)
}
