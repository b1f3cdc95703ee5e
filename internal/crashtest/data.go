package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/internal/dev"
	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// The program has to make some checkpoints before it has read everything. So each partition is filled in pieces, of which the
// broker hands out one at a time, of all partitions, with a pause between: about two for each checkpoint. Of many partitions the
// pauses are shorter, since some checkpoints are enough.
const (
	pieces       = 16 // of each partition, at least
	longestPause = 25 * time.Millisecond
	longestPace  = 5 * time.Second       // all pauses together
	interval     = 50 * time.Millisecond // of checkpoints
)

// mostData is how many bytes of keys and values a run may be fed. Each broker has a copy, and several run side by side, so that it
// is far below what a machine can hold.
const mostData = 64 << 20

// fewer is what to do about too much data.
const fewer = "take fewer records, three of each kind are enough"

// sample is what every run is fed, always to the same partitions and offsets.
type sample struct {
	records int           // of all topics, as they are in the files
	bytes   int           // of their keys and values
	rounds  int           // how often they are fed
	pause   time.Duration // of the broker between two pieces
	files   []string
	missing []string        // files that are not there
	feeds   []feed          // by topic
	keyed   map[string]bool // topics with a record that has a key
	timed   map[string]bool // and those with one that has a time
	input   reference.Input // the same for the reference
}

// feed is what one topic gets.
type feed struct {
	topic      string
	path       string // of its data
	partitions [][]devkafka.Record
	cuts       [][]int // where the pieces of each partition end
}

// readSample reads the data of all inputs. A record without a time gets now.
func readSample(ctx context.Context, o Options, topics []dev.Topic, now time.Time) (*sample, error) {
	s := &sample{input: reference.Input{}, keyed: map[string]bool{}, timed: map[string]bool{}}
	lines := map[string][]devkafka.Record{}
	most := 0
	for _, t := range topics {
		if !t.Input {
			continue
		}
		records, err := s.readFile(ctx, o.Data, t, now)
		if err != nil {
			return nil, err
		}
		lines[t.Name] = records
		s.records += len(records)
		most = max(most, len(records))
	}
	if s.records == 0 {
		return nil, s.nothing(o)
	}
	if err := s.fields(o, lines); err != nil {
		return nil, err
	}
	s.rounds = max(1, (pieces*int(o.Partitions)+most-1)/most)
	if s.bytes > mostData/s.rounds {
		return nil, fmt.Errorf("%s: the sample data is too much: fed %s, so that each of %s gets %d pieces, it is more than %d MiB; take smaller records, or fewer --partitions",
			strings.Join(s.files, ", "), times(s.rounds), many(int(o.Partitions), "partition"), pieces, mostData>>20)
	}
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	for _, t := range topics {
		if t.Input {
			f := deal(t.Name, slices.Repeat(lines[t.Name], s.rounds), int(o.Partitions), rng)
			f.path = dev.DataFile(o.Data, t.Name)
			s.feeds = append(s.feeds, f)
		}
	}
	s.pause = min(longestPause, longestPace/time.Duration(s.pieces()))
	s.refer(o.Graph)
	return s, nil
}

// pieces are those of all topics and partitions.
func (s *sample) pieces() (n int) {
	for _, f := range s.feeds {
		for _, ends := range f.cuts {
			n += len(ends)
		}
	}
	return n
}

// limit is how long one life of the program may last: a life that is handed out everything in pieces has lifeLimit beside that, even
// if each takes much longer than the pause on a machine that has too much to do.
func (s *sample) limit() time.Duration {
	return lifeLimit + time.Duration(s.pieces())*longestPause
}

// nothing says where data is looked for.
func (s *sample) nothing(o Options) error {
	where := fmt.Sprintf("it belongs into %s, a record in each line", filepath.Join(filepath.Dir(o.File), "data", "TOPIC.jsonl"))
	switch {
	case len(s.files) > 0:
		verb := "holds"
		if len(s.files) > 1 {
			verb = "hold"
		}
		where = fmt.Sprintf("%s %s no record; write one into each line", strings.Join(s.files, ", "), verb)
	case o.Data != "":
		where = fmt.Sprintf("expected %s, a record in each line", strings.Join(s.missing, ", "))
	}
	return fmt.Errorf("there is no sample data: %s; --data names another folder", where)
}

// fields refuses a --key or --time whose field no record has: the runs would be others than were asked for. One for all topics need not be in each.
func (s *sample) fields(o Options, lines map[string][]devkafka.Record) error {
	for _, flag := range []struct {
		fields map[string]string
		found  map[string]bool
		text   func(topics, field string) string
	}{{o.Key, s.keyed, dev.NoKey}, {o.Time, s.timed, dev.NoTime}} {
		for _, named := range slices.Sorted(maps.Keys(flag.fields)) {
			var topics []string
			found := false
			for _, topic := range slices.Sorted(maps.Keys(lines)) {
				own := flag.fields[topic] != ""
				if len(lines[topic]) > 0 && (topic == named || named == "" && !own) {
					topics = append(topics, topic)
					found = found || flag.found[topic]
				}
			}
			if topics != nil && !found {
				return errors.New(flag.text(strings.Join(topics, ", "), flag.fields[named]))
			}
		}
	}
	return nil
}

func (s *sample) readFile(ctx context.Context, dir string, topic dev.Topic, now time.Time) ([]devkafka.Record, error) {
	var records []devkafka.Record
	path := dev.DataFile(dir, topic.Name)
	for r, err := range topic.Rule.File(ctx, path) {
		if errors.Is(err, fs.ErrNotExist) {
			s.missing = append(s.missing, path)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if r.Key != nil {
			s.keyed[topic.Name] = true
		}
		if r.Time.IsZero() {
			r.Time = now
		} else {
			s.timed[topic.Name] = true
		}
		r.Time = r.Time.Truncate(time.Millisecond) // as a broker keeps it
		if s.bytes += len(r.Key) + len(r.Value); s.bytes > mostData {
			return nil, fmt.Errorf("%s: the sample data is more than %d MiB; %s", path, mostData>>20, fewer)
		}
		records = append(records, r)
	}
	s.files = append(s.files, path)
	return records, nil
}

// deal gives each record its partition, by its key, else in turn, and cuts the partitions into pieces.
func deal(topic string, records []devkafka.Record, partitions int, rng *rand.Rand) feed {
	f := feed{topic: topic, partitions: make([][]devkafka.Record, partitions)}
	keyless := 0
	for _, r := range records {
		if r.Key != nil {
			r.Partition = devkafka.Partition(r.Key, int32(partitions))
		} else {
			r.Partition = int32(keyless % partitions)
			keyless++
		}
		r.Offset = int64(len(f.partitions[r.Partition]))
		f.partitions[r.Partition] = append(f.partitions[r.Partition], r)
	}
	for _, part := range f.partitions {
		f.cuts = append(f.cuts, cut(len(part), pieces, rng))
	}
	return f
}

// cut cuts n things into at most so many pieces, none of them empty, of random sizes. It returns where they end.
func cut(n, into int, rng *rand.Rand) []int {
	if n == 0 {
		return nil
	}
	ends := rng.Perm(n - 1)[:min(into, n)-1]
	for i := range ends {
		ends[i]++
	}
	slices.Sort(ends)
	return append(ends, n)
}

// refer makes the reference's input: of each source, what its topic gets.
func (s *sample) refer(g *planner.Graph) {
	for _, n := range g.Nodes {
		if source, ok := n.Op.(*planner.Source); ok {
			for _, f := range s.feeds {
				if f.topic == source.Topic.Text {
					s.input[source.Name] = f.refer()
				}
			}
		}
	}
}

func (f feed) refer() [][]reference.Record {
	out := make([][]reference.Record, len(f.partitions))
	for id, part := range f.partitions {
		for _, r := range part {
			out[id] = append(out[id], reference.Record{Key: r.Key, Value: r.Value, Offset: r.Offset, Time: r.Time.UnixMicro()})
		}
	}
	return out
}

// place is the line of a record that was refused; "" if that is a result.
func (s *sample) place(r reference.Refusal) string {
	for _, f := range s.feeds {
		if f.topic == r.Topic {
			return fmt.Sprintf("%s:%d", f.path, f.partitions[r.Partition][r.Offset].Line)
		}
	}
	return ""
}

// send fills a topic, piece by piece: what is sent together is handed out together.
func (f feed) send(ctx context.Context, client *devkafka.Client) error {
	for k := 0; ; k++ {
		var batch []devkafka.Record
		for id, ends := range f.cuts {
			if k >= len(ends) {
				continue
			}
			from := 0
			if k > 0 {
				from = ends[k-1]
			}
			batch = append(batch, f.partitions[id][from:ends[k]]...) // a copy: Send notes in it where the records are
		}
		if batch == nil {
			return nil
		}
		want := slices.Clone(batch)
		if err := client.Send(ctx, f.topic, batch); err != nil {
			return err
		}
		for i, r := range batch {
			if r.Partition != want[i].Partition || r.Offset != want[i].Offset {
				return fmt.Errorf("the record for %s, partition %d, offset %d has come to partition %d, offset %d",
					f.topic, want[i].Partition, want[i].Offset, r.Partition, r.Offset)
			}
		}
	}
}
