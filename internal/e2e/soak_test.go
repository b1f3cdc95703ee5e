//go:build unix

package e2e

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// soakSites are those of a long soak: each has a broker or a cluster of its own.
func soakSites() []site {
	return []site{{name: "V1", version: 1, own: true}, {name: "V2", version: 2, own: true}, {name: "three nodes", own: true, nodes: true}}
}

// TestSoak lets pipelines suffer random faults for a while, and judges each at its end. The faults of each site are a function of the seed; how
// many episodes there are depends on the time. EO_SOAK says how long each site goes on, without it 20 s, and at least until one pipeline is judged;
// EO_SEED repeats a run; EO_SOAK_RECORD names a file for the record.
func TestSoak(t *testing.T) {
	t.Parallel()
	const short, shortFaults, longFaults = 20 * time.Second, 10, 50
	length, faults := short, shortFaults
	sites := []site{{name: "V1", version: 1}, {name: "V2", version: 2, own: true}}
	if text := os.Getenv("EO_SOAK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil || length <= 0 {
			t.Fatalf("EO_SOAK=%s: want a duration, for example 10m", text)
		}
		faults = longFaults
		sites = soakSites()
	}
	seed := seed(t)
	places := make([]place, len(sites))
	for i, s := range sites {
		places[i] = s.prepare(t)
	}
	for _, name := range examples() { // what it takes to begin is not part of the time
		declare(t, name, patient(example(t, name)), nil).binary(t, failpoints)
	}
	l := newLedger(seed, length, sites)
	fmt.Println(l.line())
	over := make(chan struct{})
	go func() {
		for tick := time.NewTicker(10 * time.Second); ; {
			select {
			case <-tick.C:
				fmt.Println(l.line())
			case <-over:
				return
			}
		}
	}()
	t.Run("sites", func(t *testing.T) {
		// Subtests that are parallel would wait for their turn among all tests of the package, while the time goes by.
		var all sync.WaitGroup
		for i, s := range sites {
			all.Go(func() {
				t.Run(s.name, func(t *testing.T) { s.soak(t, places[i], l, faults) })
			})
		}
		all.Wait()
	})
	close(over)
	fmt.Println(l.line())
	if !t.Failed() {
		if lacks := l.lacks(); lacks != "" {
			t.Errorf("that says nothing: %s", lacks)
		}
	}
	if path := os.Getenv("EO_SOAK_RECORD"); path != "" {
		if err := os.WriteFile(path, []byte(l.record()), 0o644); err != nil {
			t.Error(err)
		}
	}
	fmt.Print(l.record())
}

// place is what a site runs on.
type place struct {
	broker  *kafkatest.Broker
	cluster *kafkatest.Cluster // nil: a broker alone
}

func (s site) prepare(t *testing.T) place {
	switch {
	case s.nodes:
		c := brokers.Cluster(t, 2)
		return place{c.All, c}
	case s.own:
		return place{kafkatest.Start(t, kafkatest.Options{TransactionVersion: s.version, Settings: brokers.Settings}), nil}
	}
	return place{brokers.Broker(t, s.version), nil}
}

// farthest is the last episode that is looked for if -run names one.
const farthest = 10_000

// soak runs one episode after the other, at least one, until the time is over or one fails. If -run names episodes it ends behind them.
func (s site) soak(t *testing.T, on place, l *ledger, faults int) {
	ran := 0
	defer l.at(s, "")
	for began, n := time.Now(), 0; n <= farthest && (ran == 0 || time.Since(began) < l.length); n++ {
		e := planEpisode(l.seed, s, n, faults)
		before := ran
		good := t.Run(e.name(), func(t *testing.T) {
			ran++
			l.at(s, e.name()+" begins")
			if on.cluster != nil {
				on.cluster.SetTransactionVersion(t, e.version)
			}
			newSoaker(t, e, s, on, l).episode(t, e)
		})
		if !good || ran > 0 && ran == before {
			return
		}
	}
}
