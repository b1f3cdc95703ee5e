//go:build unix

package e2e

import (
	"fmt"
	"regexp"
	"testing"
)

// foreseen is the checkpoint from which doctor says that the start will go on.
var foreseen = regexp.MustCompile(`(?:goes on from checkpoint|it commits checkpoint|it goes back to) ([0-9]+)`)

// resumed is the checkpoint from which a start has gone on.
var resumed = regexp.MustCompile(`"msg":"running".*?"checkpoint":([0-9]+)[,}]`)

// TestDoctorForesees kills the program where the next start has something else to do each time: nothing, to commit what is prepared, to find out
// that it is committed. It compares what doctor says that the start will do with what it does.
func TestDoctorForesees(t *testing.T) {
	t.Parallel()
	for version, points := range map[int][]string{1: {"after-store"}, 2: {"before-store", "after-store", "after-end-txn"}} {
		t.Run(fmt.Sprint("V", version), func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, "orders", patient(example(t, "orders")), brokers.Broker(t, version))
			r := newRun(t, p, failpoints, 2, makeLoad(p.graph, seed(t), caseRecords))
			next := r.feeder.shares(len(points) + 1)
			for i, point := range points {
				next()
				r.dieAt(t, i, death{point: point, pass: 2})
				check, code := r.doctor(t)
				said := foreseen.FindStringSubmatch(check("start", "ok"))
				if code != 0 || said == nil {
					t.Errorf("after a death at %s: code %d, start %q, refused %q", point, code, check("start", "ok"), check("start", "failure"))
					continue
				}
				alive := r.start(t)
				poll(t, alive, "the start", func() bool { return resumed.MatchString(alive.Log()) })
				if did := resumed.FindStringSubmatch(alive.Log()); did[1] != said[1] {
					t.Errorf("after a death at %s doctor said %q, the start went on from %s", point, said[0], did[1])
				}
				alive.Kill(t)
			}
			r.finish(t)
		})
	}
}
