//go:build unix

package e2e

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/reference"
)

// What the ledger counts besides the kinds of faults.
const (
	atPoint  = "at-point"
	atMoment = "at-moment"
	judged   = "judged"
	noSpace  = "no-space"
)

// ledger counts what has happened in a soak, site by site.
type ledger struct {
	seed   uint64
	length time.Duration
	began  time.Time

	mu     sync.Mutex
	sites  []site
	counts map[string]map[string]int // by name of the site
	tally  map[string]reference.Tally
	now    map[string]string // what is under way there
}

func newLedger(seed uint64, length time.Duration, sites []site) *ledger {
	l := &ledger{seed: seed, length: length, began: time.Now(), sites: sites, counts: map[string]map[string]int{}, tally: map[string]reference.Tally{}, now: map[string]string{}}
	for _, s := range sites {
		l.counts[s.name] = map[string]int{}
	}
	return l
}

func (l *ledger) add(s site, what string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[s.name][what] += n
}

// at says what is under way at a site, "" for nothing.
func (l *ledger) at(s site, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now[s.name] = what
}

// judged adds what was found out about a pipeline.
func (l *ledger) judged(s site, t reference.Tally) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[s.name][judged]++
	l.tally[s.name] = plus(l.tally[s.name], t)
}

func plus(a, b reference.Tally) reference.Tally {
	return reference.Tally{Records: a.Records + b.Records, Lost: a.Lost + b.Lost, Doubled: a.Doubled + b.Doubled, Wrong: a.Wrong + b.Wrong}
}

// total is a count over all sites.
func (l *ledger) total(what ...string) int {
	n := 0
	for _, counts := range l.counts {
		for _, w := range what {
			n += counts[w]
		}
	}
	return n
}

// lacks names what a site has not done without which it proves nothing, "" if there is no such thing. One that has not begun was not asked for.
func (l *ledger) lacks() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	begun := false
	for _, s := range l.sites {
		counts := l.counts[s.name]
		if _, ok := l.now[s.name]; !ok {
			continue
		}
		begun = true
		kills := counts[atPoint] + counts[atMoment]
		if counts[judged] == 0 || kills < counts[judged] || l.tally[s.name].Records == 0 {
			return fmt.Sprintf("%s: %d programs killed with -9, %d pipelines judged, which have %d results; expected are results, and at least one pipeline and a kill for each",
				s.name, kills, counts[judged], l.tally[s.name].Records)
		}
	}
	if !begun {
		return "no site has begun"
	}
	return ""
}

// line is how far the soak is.
func (l *ledger) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var t reference.Tally
	for _, one := range l.tally {
		t = plus(t, one)
	}
	var under []string
	for _, s := range l.sites {
		if l.now[s.name] != "" {
			under = append(under, s.name+" "+l.now[s.name])
		}
	}
	text := fmt.Sprintf("soak, EO_SEED=%d: %v of %v; %d kills -9, %d stops, %d nodes killed, %d connections cut, %d requests disturbed; %d pipelines judged, %d results: %d lost, %d doubled, %d wrong",
		l.seed, time.Since(l.began).Round(time.Second), l.length, l.total(atPoint, atMoment), l.total(string(stop)), l.total(string(killNode)), l.total(string(cut)),
		l.total(string(late), string(repeat), string(delay), string(stuck)), l.total(judged), t.Records, t.Lost, t.Doubled, t.Wrong)
	if len(under) > 0 {
		text += "; under way: " + strings.Join(under, ", ")
	}
	return text
}

// rows are the lines of the record, in its order.
func rows() []struct{ text, what string } {
	return []struct{ text, what string }{
		{"kill -9 at a crash point", atPoint},
		{"kill -9 at a random moment", atMoment},
		{"SIGTERM: final checkpoint, exit code 0", string(stop)},
		{"SIGTERM, and SIGKILL within 60 ms", string(hurry)},
		{"SIGSTOP, later SIGCONT", string(pause)},
		{"replaced while paused; the paused one gives up", string(replace)},
		{"second copy on the same state, refused", string(second)},
		{"open transaction aborted by the broker", string(expire)},
		{"connection cut", string(cut)},
		{"request late: its sender has given it up", string(late)},
		{"request repeated later", string(repeat)},
		{"request held up", string(delay)},
		{"request without an answer", string(stuck)},
		{"disk of the state full", string(full)},
		{"… the program ends, exit code 6", noSpace},
		{"broker or node hangs: SIGSTOP, later SIGCONT", string(freeze)},
		{"broker alone stopped and started", string(restart)},
		{"node of three killed with -9 and started", string(killNode)},
		{"node of three stopped and started", string(stopNode)},
		{"aborted transaction in the input", string(foreign)},
		{"transaction left open in the input, then aborted", string(held)},
		{"partition added to a source", string(grow)},
		{"pipelines judged", judged},
	}
}

// record is the soak as a table of Markdown.
func (l *ledger) record() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	again := fmt.Sprintf("make soak DURATION=%v SEED=%d", l.length, l.seed)
	if os.Getenv("EO_SOAK") == "" { // that has other sites, and more faults in each episode
		again = fmt.Sprintf("EO_SEED=%d go test -count 1 -run '^TestSoak$' ./internal/e2e", l.seed)
	}
	fmt.Fprintf(&b, "`%s` ran %v on Kafka %s, %s, %s/%s with %d processors: %d kills with -9.\n\n", again,
		time.Since(l.began).Round(time.Second), kafkatest.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), l.total(atPoint, atMoment))
	line := func(text string, of func(site) int) {
		sum := 0
		fmt.Fprintf(&b, "| %s |", text)
		for _, s := range l.sites {
			sum += of(s)
			fmt.Fprintf(&b, " %d |", of(s))
		}
		fmt.Fprintf(&b, " %d |\n", sum)
	}
	b.WriteString("| |")
	for _, s := range l.sites {
		fmt.Fprintf(&b, " %s |", s.name)
	}
	b.WriteString(" all |\n" + strings.Join(slices.Repeat([]string{"|---"}, len(l.sites)+2), "") + "|\n")
	for _, r := range rows() {
		if l.total(r.what) > 0 {
			line(r.text, func(s site) int { return l.counts[s.name][r.what] })
		}
	}
	line("results that the reference has", func(s site) int { return l.tally[s.name].Records })
	line("**lost**", func(s site) int { return l.tally[s.name].Lost })
	line("**doubled**", func(s site) int { return l.tally[s.name].Doubled })
	line("**wrong**", func(s site) int { return l.tally[s.name].Wrong })
	return b.String()
}

// TestSoakProvesSomething: a soak in which a site that has begun killed nothing, judged nothing, or judged pipelines without results, fails.
func TestSoakProvesSomething(t *testing.T) {
	idle, busy := site{name: "idle"}, site{name: "busy"}
	all := func(kills, pipelines, results int, begun ...site) string {
		l := newLedger(1, time.Second, []site{idle, busy})
		for _, s := range begun {
			l.at(s, "0-orders begins")
			if s == busy {
				l.add(s, atPoint, kills)
				for range pipelines {
					l.judged(s, reference.Tally{Records: results / pipelines})
				}
			}
			l.at(s, "")
		}
		return l.lacks()
	}
	if lacks := all(2, 2, 100, busy); lacks != "" {
		t.Errorf("two kills, two pipelines and their results: %s", lacks)
	}
	for name, lacks := range map[string]string{
		"nothing has begun": all(0, 0, 0), "an idle site": all(2, 2, 100, busy, idle), "no kill": all(0, 1, 100, busy), "no pipeline": all(5, 0, 0, busy),
		"no results": all(5, 1, 0, busy), "fewer kills than pipelines": all(1, 2, 100, busy),
	} {
		if lacks == "" {
			t.Errorf("%s: nothing is missed", name)
		}
	}
}
