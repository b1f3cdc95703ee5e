//go:build !race

package kafka

// The race detector takes each byte that the client clears for a step, and its shadow for memory: these tests are for a process without it.

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/skip"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// What floods the memory in TestFlood. Together it would be more than two GiB, of which a broker keeps a few hundred kB and sends all in one answer.
const (
	floodParts   = 2  // of the topic
	floodBatches = 40 // of each partition
	floodValue   = 16 << 20
	floodHeaders = 1 << 20 // of each fourth record, which has no value
	floodPeak    = 512 << 20
	floodLimit   = "400MiB" // so that garbage does not count
)

// dense says that a record of the flood has headers and no value.
func dense(offset int64) bool { return offset%4 == 3 }

// Many small batches that unpack to gigabytes, or whose headers do, are read piece by piece: every record once, within what a reader may hold.
func TestFlood(t *testing.T) {
	if runtime.GOOS != "linux" {
		skip.Loudly(t, "only Linux tells how much memory a process had at most")
	}
	if at := os.Getenv("EO_FLOOD"); at != "" {
		readFlood(t, strings.Fields(at))
		return
	}
	b := newBedAt(t, kafkatest.StartLiar(t).Broker)
	value, headers := make([]byte, floodValue), make([]kgo.RecordHeader, floodHeaders)
	for p := range int32(floodParts) {
		var records []*kgo.Record
		for i := range int64(floodBatches) {
			r := &kgo.Record{Partition: p, Value: value}
			if dense(i) {
				r.Value, r.Headers = nil, headers
			}
			records = append(records, r)
		}
		squeezed(t, b, records...)
	}
	exe, err := os.Executable()
	b.must(err)
	reader := exec.CommandContext(b.ctx, exe, "-test.run=^TestFlood$", "-test.v")
	reader.Env = append(os.Environ(), "EO_FLOOD="+b.Addr+" "+b.in, "GOMEMLIMIT="+floodLimit)
	out, err := reader.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	t.Logf("%s", out)
}

// readFlood is a process that reads what TestFlood has written.
func readFlood(t *testing.T, at []string) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	c, err := Open(ctx, Config{Brokers: at[:1], ClientID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var start []engine.Position
	for p := range int32(floodParts) {
		start = append(start, engine.Position{Topic: at[1], Partition: p})
	}
	r, err := c.NewReader(false, start)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var next [floodParts]int64
	for done := int64(0); done < floodParts*floodBatches; {
		got, err := r.Poll(ctx)
		if err != nil {
			t.Fatalf("%v, at %v", err, next)
		}
		for _, c := range got.Chunks {
			for _, rec := range c.Records {
				want, headers := floodValue, 0
				if dense(rec.Offset) {
					want, headers = 0, floodHeaders
				}
				if rec.Offset != next[c.Partition] || len(rec.Value) != want || len(rec.Headers) != headers {
					t.Fatalf("partition %d: offset %d with %d bytes and %d headers, want offset %d", c.Partition, rec.Offset, len(rec.Value), len(rec.Headers), next[c.Partition])
				}
				next[c.Partition]++
				done++
			}
		}
		got.Release()
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	kib, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)[1]))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB at most", kib>>10)
	if kib<<10 > floodPeak {
		t.Errorf("the process had %d MiB, want %d at most", kib>>10, floodPeak>>20)
	}
}

// Who only counts records, as verify does, reads them piece by piece as well.
func TestFloodOfAudit(t *testing.T) {
	b := newBedAt(t, kafkatest.StartLiar(t).Broker)
	value := make([]byte, batchUnpack/2)
	for range 5 {
		squeezed(t, b, &kgo.Record{Value: value})
	}
	squeezed(t, b, &kgo.Record{Headers: make([]kgo.RecordHeader, batchMost/headerTakes)})
	var seen []int64
	visit := func(c Committed) { seen = append(seen, c.Offset) }
	b.must(b.cluster.ReadCommitted(b.ctx, []Stretch{{Topic: b.in, To: 5}}, visit, func(int64) {}))
	if !slices.Equal(seen, []int64{0, 1, 2, 3, 4}) {
		t.Errorf("saw offsets %d", seen)
	}
	err := b.cluster.ReadCommitted(b.ctx, []Stretch{{Topic: b.in, From: 5, To: 6}}, visit, func(int64) {})
	wantKind(t, err, failure.Record, "the records from offset 5 to before 6 are one batch")
}
