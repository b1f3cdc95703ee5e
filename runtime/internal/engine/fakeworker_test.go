package engine

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

const (
	fakeWindow   = 100 // size of the fake pipeline's windows
	fakeDisorder = 50
)

// fakeWorker counts records per key in windows of fakeWindow. A record's key is its key, its time its timestamp. It
// is written for the tests' sake: plain maps, JSON as state.
type fakeWorker struct {
	out     Outlet
	targets int
	slab    *record.Slab
	rows    [][]fakeRow
	state   map[fakeKey]int
	changed map[fakeKey]bool
	w       int64
	counts  map[checkpoint.Count]int64 // N is 0 in the keys
}

type fakeKey struct {
	Start int64
	Key   string
}

type fakeRow fakeKey

type fakeEntry struct {
	fakeKey
	N int
}

func newFakeWorker(out Outlet, targets int) Worker {
	return &fakeWorker{
		out: out, targets: targets, slab: &record.Slab{}, rows: make([][]fakeRow, max(1, targets)), w: minTime,
		state: map[fakeKey]int{}, changed: map[fakeKey]bool{}, counts: map[checkpoint.Count]int64{},
	}
}

func keyGroup(key string) int {
	h := fnv.New32a()
	h.Write([]byte(key))
	return int(h.Sum32() % checkpoint.Groups)
}

func (w *fakeWorker) count(p *Partition, name string) {
	w.counts[checkpoint.Count{Operator: "count", Name: name, Topic: p.Topic, Partition: p.ID}]++
}

func (w *fakeWorker) Process(p *Partition, records []record.Record) error {
	for _, r := range records {
		p.Watermark = max(p.Watermark, r.Time-fakeDisorder)
		start := r.Time / fakeWindow * fakeWindow
		if start+fakeWindow <= max(p.Watermark, p.Floor[0]) {
			w.count(p, "late")
			continue
		}
		w.count(p, "aggregated")
		k := fakeKey{start, string(r.Key)}
		if w.targets == 0 {
			w.add(k)
			continue
		}
		t := checkpoint.Owner(keyGroup(k.Key), w.targets)
		w.rows[t] = append(w.rows[t], fakeRow(k))
	}
	for t, rows := range w.rows {
		if len(rows) > 0 {
			w.out.Rows(0, t, fakeRows(rows))
			w.rows[t] = nil
		}
	}
	return nil
}

type fakeRows []fakeRow

func (fakeRows) Bytes() int { return 0 }

func (w *fakeWorker) add(k fakeKey) {
	w.state[k]++
	w.changed[k] = true
}

func (w *fakeWorker) Accept(_ int, rows Rows) error {
	for _, r := range rows.(fakeRows) {
		if r.Start+fakeWindow <= w.w {
			return fmt.Errorf("the window of %v is closed: W is %d", r, w.w)
		}
		w.add(fakeKey(r))
	}
	return nil
}

func (w *fakeWorker) Advance(_ int, to int64) (closed int, err error) {
	w.w = to
	for k, n := range w.state {
		if k.Start+fakeWindow <= to {
			closed++
			delete(w.state, k)
			w.changed[k] = true
			w.write(fmt.Sprintf("%d %s %d", k.Start, k.Key, n))
		}
	}
	return closed, nil
}

func (w *fakeWorker) write(value string) {
	start := len(w.slab.Data)
	w.slab.Data = append(w.slab.Data, value...)
	w.slab.Records = append(w.slab.Records, record.Span{Start: start, KeyEnd: start, End: len(w.slab.Data)})
	if len(w.slab.Records) == 16 {
		w.Flush()
	}
}

func (w *fakeWorker) Flush() {
	if len(w.slab.Records) > 0 {
		w.slab = w.out.Slab(w.slab)
	}
}

func (w *fakeWorker) Snapshot() []checkpoint.Delta {
	groups := map[int][]fakeEntry{}
	for k := range w.changed {
		groups[keyGroup(k.Key)] = append(groups[keyGroup(k.Key)], fakeEntry{k, w.state[k]})
	}
	clear(w.changed)
	var out []checkpoint.Delta
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		data, err := json.Marshal(groups[g])
		if err != nil {
			panic(err)
		}
		out = append(out, checkpoint.Delta{Operator: "count", Group: g, Data: data})
	}
	return out
}

func (w *fakeWorker) Restore(d checkpoint.Delta) error {
	var entries []fakeEntry
	if err := json.Unmarshal(d.Data, &entries); err != nil {
		return err
	}
	for _, e := range entries {
		if e.N == 0 {
			delete(w.state, e.fakeKey)
		} else {
			w.state[e.fakeKey] = e.N
		}
	}
	return nil
}

// fakeBytes is what a key takes, as Held has it.
const fakeBytes = 1 << 20

func (w *fakeWorker) Held(yield func(op int, start int64, keys int, bytes int64)) {
	keys := map[int64]int{}
	for k := range w.state {
		keys[k.Start]++
	}
	for start, n := range keys {
		yield(0, start, n, int64(n)*fakeBytes)
	}
}

func (w *fakeWorker) Refused(to []Refusal) []Refusal { return to }

func (w *fakeWorker) Counts(to []checkpoint.Count) []checkpoint.Count {
	for k, n := range w.counts {
		k.N = n
		to = append(to, k)
	}
	return to
}
