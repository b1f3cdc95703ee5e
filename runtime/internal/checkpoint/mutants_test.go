package checkpoint

import (
	"slices"
	"strings"
	"testing"
)

// TestMutants breaks the protocol in one place each time. A search that does not notice is no proof of the protocol.
func TestMutants(t *testing.T) {
	for _, c := range []struct {
		name     string
		m        mutant
		scenario string // in which it must be noticed
		want     string // how
	}{
		{"EndTxn before the checkpoint is stored", mutant{commitFirst: true}, "V2 one process", "I2"},
		{"N+1 is stored before N is confirmed", mutant{earlyNext: true}, "V2 one process", "only 2 records"},
		{"the store keeps only the newest checkpoint", mutant{dropEarly: true}, "V1 one process", "refuses to start"},
		{"V1 without InitProducerId between transactions", mutant{noReinit: true}, "V1 one process", "I3"},
		{"the unconfirmed transaction's id is fenced before EndTxn", mutant{fenceFirst: true}, "V2 one process", "I5"},
		{"fenced is taken for aborted", mutant{fencedAborted: true}, "V2 copied directory", "I7"},
		{"fenced is taken for committed", mutant{fencedDone: true}, "V1 one process", "I7"},
		{"no fence of ids without a committable", mutant{noFenceOthers: true}, "V2 zombie with other ids", "I6"},
		{"the marker is read without require_stable and before the fence", mutant{unstableRead: true, noFenceAfter: true}, "V2 one process", "refuses to start"},
		{"one look at the marker", mutant{oneLook: true}, "V2 copied directory", "I7"},
		{"the marker is outside of the transaction", mutant{markOutside: true}, "V1 one process", "I1"},
		{"a marker without its producer", mutant{markByNumber: true}, "V1 copied directory", "I7"},
		{"no marker of checkpoint 0", mutant{noMarkZero: true}, "V1 one process", "refuses to start"},
		{"checkpoint 0 is not stored", mutant{resolveLate: true}, "V1 first starts at latest", "I4"},
		{"an older state is accepted", mutant{olderIsFine: true}, "V1 copied directory", "I7"},
		{"a missing marker is taken for an abort", mutant{lostIsAborted: true}, "V1 lost marker, forgotten id", "I7"},
		{"a renewal takes what it gets", mutant{blindRenewal: true}, "V1 copied directory, renewals beside", "I1"},
		{"a renewal takes what it gets of a coordinator that has forgotten the id", mutant{forgottenIsFine: true}, "V2 zombie with other ids, forgotten ids", "I6"},
		{"a renewal goes on unless the marker says that others have committed", mutant{markerDecides: true}, "V1 zombie with other ids", "I6"},
		{"a renewal does not look at the marker where epochs run out", mutant{noLookAtRenewal: true}, "V1 copied directory, forgotten ids, epochs run out", "I1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := searchMutant(c.m, c.scenario)
			if err == nil {
				t.Fatalf("not noticed in %d worlds", n)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("noticed, but not as %q", c.want)
			}
			t.Logf("%v", err)
		})
	}
}

// TestSecondLines leaves out a rule behind which another one stands. When a search notices one of them, the other has gone.
func TestSecondLines(t *testing.T) {
	for _, c := range []struct {
		name     string
		m        mutant
		scenario string
	}{
		// The next transaction of a zombie is one of the other id, which is fenced before; and opening the sink fences all.
		{"no fence after no error", mutant{noFenceAfter: true}, "V2 zombie with other ids"},
		// A fence waits until the transaction before is visible.
		{"the marker is read without require_stable", mutant{unstableRead: true}, "V2 one process"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := searchMutant(c.m, c.scenario); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func searchMutant(m mutant, name string) (worlds int, err error) {
	all := scenarios()
	i := slices.IndexFunc(all, func(sc scenario) bool { return sc.name == name })
	s := search{sc: all[i], m: m}
	err = s.run()
	return len(s.seen), err
}
