package crashtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/dev"
	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/planner"
)

func TestCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ n, into, want int }{{0, 16, 0}, {1, 16, 1}, {15, 16, 15}, {16, 16, 16}, {1000, 16, 16}, {5, 1, 1}} {
		ends := cut(c.n, c.into, rng)
		if len(ends) != c.want || !slices.IsSorted(ends) || len(slices.Compact(slices.Clone(ends))) != len(ends) {
			t.Errorf("%d into %d: %v", c.n, c.into, ends)
		}
		if c.n > 0 && (ends[0] < 1 || ends[len(ends)-1] != c.n) {
			t.Errorf("%d into %d: %v", c.n, c.into, ends)
		}
	}
}

// writeClicks writes a file of records for the topic clicks, each of so many bytes, and returns options that read it.
func writeClicks(t *testing.T, records, size int, partitions int32) Options {
	t.Helper()
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "clicks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	line := []byte(`{"id":"` + strings.Repeat("x", size-len(`{"id":""}`)) + "\"}\n")
	for range records {
		if _, err := file.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	return Options{Graph: &planner.Graph{}, Data: dir, Partitions: partitions}
}

// However many partitions there are, a life that is handed out everything in pieces is far from its limit.
func TestPace(t *testing.T) {
	for partitions, want := range map[int32]time.Duration{1: longestPause, 3: longestPause, 12: longestPause, 128: longestPace / (128 * pieces)} {
		s, err := readSample(t.Context(), writeClicks(t, 100, 20, partitions), []dev.Topic{{Name: "clicks", Input: true}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		paced := time.Duration(s.pieces()) * s.pause
		if s.pause != want || paced > longestPace || s.limit() < lifeLimit+paced {
			t.Errorf("%d partitions: %d pieces, a pause of %v, want %v; a life may last %v", partitions, s.pieces(), s.pause, want, s.limit())
		}
	}
}

// More than each of several brokers can have a copy of is refused, whether a file is too large or what is fed.
func TestTooMuchData(t *testing.T) {
	topics := []dev.Topic{{Name: "clicks", Input: true}}
	for _, c := range []struct {
		records, size int
		partitions    int32
		want          string
	}{
		{75, 900_000, 1, "clicks.jsonl: the sample data is more than 64 MiB; take fewer records, three of each kind are enough"},
		{4, 900_000, 16, "fed 64 times, so that each of 16 partitions gets 16 pieces, it is more than 64 MiB; take smaller records, or fewer --partitions"},
		{4, 900_000, 4, ""},
	} {
		_, err := readSample(t.Context(), writeClicks(t, c.records, c.size, c.partitions), topics, time.Now())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d records of %d bytes, %d partitions: %v, want %q", c.records, c.size, c.partitions, err, c.want)
		}
	}
}

// A field for keys or times that no record has is refused, as those who gave it want other runs. One for all topics may be in some of them.
func TestMissingFields(t *testing.T) {
	dir := t.TempDir()
	for topic, line := range map[string]string{"clicks": `{"id":"x"}`, "views": `{"page":"p","at":1700000000000}`, "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, topic+".jsonl"), []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		key, time map[string]string
		want      string
	}{
		{map[string]string{"": "nope"}, nil, "no record of topic clicks, views has a key: its field nope, which --key names, is missing or null in all of them"},
		{map[string]string{"clicks": "page"}, nil, "no record of topic clicks has a key: its field page, which --key names, is missing or null in all of them"},
		{map[string]string{"clicks": "id", "": "id"}, nil, "no record of topic views has a key: its field id, which --key names, is missing or null in all of them"},
		{map[string]string{"": "id"}, map[string]string{"": "page"}, "all records of topic clicks, views have the time of now: their field page, which --time names, has no time in it"},
		{map[string]string{"": "id"}, map[string]string{"views": "at"}, ""},
		{map[string]string{"": "id", "views": "page", "empty": "nope"}, nil, ""},
	} {
		o := Options{Graph: &planner.Graph{}, Data: dir, Partitions: 1, Key: c.key, Time: c.time}
		var topics []dev.Topic
		for _, name := range []string{"views", "clicks", "empty", "missing"} {
			rule := devkafka.Rule{Key: cmp.Or(c.key[name], c.key[""]), Time: cmp.Or(c.time[name], c.time[""])}
			topics = append(topics, dev.Topic{Name: name, Input: true, Rule: rule})
		}
		_, err := readSample(t.Context(), o, topics, time.Now())
		if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
			t.Errorf("%v, %v: %s, want %q", c.key, c.time, got, c.want)
		}
	}
}

// Records with a key go where a broker's clients send them, the others in turn, and each knows its offset.
func TestDeal(t *testing.T) {
	var records []devkafka.Record
	for i := range 100 {
		r := devkafka.Record{Value: []byte(fmt.Sprint(i))}
		if i%2 == 0 {
			r.Key = []byte(fmt.Sprint("key", i%10))
		}
		records = append(records, r)
	}
	f := deal("orders", records, 3, rand.New(rand.NewPCG(1, 1)))
	total, keyless := 0, map[int]int{}
	place := map[string]int{}
	for id, part := range f.partitions {
		total += len(part)
		for i, r := range part {
			if r.Offset != int64(i) || r.Partition != int32(id) {
				t.Errorf("record %d of partition %d is at %d/%d", i, id, r.Partition, r.Offset)
			}
			if r.Key == nil {
				keyless[id]++
			} else if at, known := place[string(r.Key)]; known && at != id {
				t.Errorf("key %s is in two partitions", r.Key)
			} else {
				place[string(r.Key)] = id
			}
		}
		if len(part) > 0 && f.cuts[id][len(f.cuts[id])-1] != len(part) {
			t.Errorf("partition %d has %d records and is cut at %v", id, len(part), f.cuts[id])
		}
	}
	if total != len(records) || keyless[0] != 17 || keyless[1] != 17 || keyless[2] != 16 {
		t.Errorf("%d records, without key %v", total, keyless)
	}
}
