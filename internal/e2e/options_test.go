//go:build unix

package e2e

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// optionsText has a source for each option that says which records are read, with a sink of its own.
const optionsText = `type Row { id: string }

job options { txn_prefix "shop.eu" }

source committed: Row from kafka("committed")
source uncommitted: Row from kafka("uncommitted") { isolation read_uncommitted }
source latest: Row from kafka("latest") { start latest }
source since: Row from kafka("since") { start timestamp("2025-06-01T12:00:00Z") }

stream a { from committed    to kafka("committed.out") }
stream b { from uncommitted  to kafka("uncommitted.out") }
stream c { from latest       to kafka("latest.out") }
stream d { from since        to kafka("since.out") }
`

// TestSourceOptions writes input of which each source is to read a part: transactions that are committed, aborted and open, records from before
// the first start and from before a time. The program is killed on the way: where it begins counts at its first start alone.
func TestSourceOptions(t *testing.T) {
	t.Parallel()
	const prefix = "shop.eu-"
	r := alone(t, "options", optionsText, 1)
	start := time.Date(2025, time.June, 1, 12, 0, 0, 0, time.UTC)
	row := func(id string, at time.Time) kafkatest.Record {
		return kafkatest.Record{Value: []byte(`{"id":"` + id + `"}`), Time: at}
	}
	send := func(source string, records ...kafkatest.Record) { r.broker.Produce(t, r.topics[source], records...) }
	var open []*kafkatest.Txn
	for _, source := range []string{"committed", "uncommitted"} {
		topic := r.topics[source]
		send(source, row("plain", start))
		r.broker.ProduceTxn(t, false, topic, row("aborted", start))
		r.broker.ProduceTxn(t, true, topic, row("committed", start))
		open = append(open, r.broker.OpenTxn(t, topic+".open", topic, row("aborted later", start)))
	}
	send("latest", row("before", start))
	send("since", row("before", start.Add(-time.Millisecond)), row("at the time", start), row("behind it, and older", start.Add(-time.Hour)))

	alive := r.start(t)
	r.awaitRead(t, alive, r.topics["latest"], 0, 1) // the first checkpoint has where it begins
	send("latest", row("after", start))
	r.awaitCounts(t, alive, map[string]int{"committed.out": 2, "uncommitted.out": 4, "latest.out": 1, "since.out": 2})
	alive.Kill(t)
	for _, txn := range open {
		if err := txn.Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range []string{"committed", "uncommitted", "since"} {
		send(source, row("last", start.Add(-time.Hour)))
	}
	send("latest", row("while it was dead", start))

	want := map[string][]string{
		"committed.out":   {"plain", "committed", "last"},
		"uncommitted.out": {"plain", "aborted", "committed", "aborted later", "last"},
		"latest.out":      {"after", "while it was dead"},
		"since.out":       {"at the time", "behind it, and older", "last"},
	}
	counts := map[string]int{}
	for topic, ids := range want {
		counts[topic] = len(ids)
	}
	alive = r.start(t)
	r.awaitCounts(t, alive, counts)
	r.stop(t, alive)
	r.broker.AwaitSettled(t, r.outputs()...)
	for topic, ids := range want {
		var values, got []string
		for _, id := range ids {
			values = append(values, `{"id":"`+id+`"}`)
		}
		for _, rec := range r.broker.ReadCommitted(t, r.topics[topic]) {
			got = append(got, string(rec.Value))
		}
		if !slices.Equal(got, values) {
			t.Errorf("%s has\n%q\nwant\n%q", topic, got, values)
		}
	}
	r.verify(t)

	var ids []string
	for _, id := range r.broker.TransactionalIDs(t, prefix) {
		ids = append(ids, regexp.MustCompile(`^[^:]*`).FindString(id))
	}
	if !slices.Equal(ids, []string{prefix + "0", prefix + "1"}) {
		t.Errorf("the transactional ids that begin with %s are %q", prefix, ids)
	}
	if ids := r.broker.TransactionalIDs(t, r.name+"-"); len(ids) > 0 {
		t.Errorf("in spite of txn_prefix there are the transactional ids %q", ids)
	}
}

// awaitCounts waits until as many records are committed to topics of the .eo file.
func (r *run) awaitCounts(t testing.TB, p *program.Process, want map[string]int) {
	t.Helper()
	ctx, cancel := whileAlive(t, p, resultLimit)
	defer cancel()
	err := r.follower.Await(ctx, func(counts map[string]int) bool {
		for topic, n := range want {
			if counts[r.topics[topic]] < n {
				return false
			}
		}
		return true
	})
	if err != nil {
		t.Errorf("%v; expected are %v", err, want)
		r.explain(t, p)
		t.FailNow()
	}
}
