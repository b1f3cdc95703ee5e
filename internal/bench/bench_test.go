//go:build unix

package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
)

var (
	records     = flag.Int("records", 5_000_000, "records that each example drains")
	rate        = flag.Int("rate", 20_000, "records per second while latency is measured")
	seconds     = flag.Int("seconds", 30, "how long latency is measured")
	interval    = flag.Duration("interval", time.Second, "checkpoint interval")
	parallelism = flag.Int("tasks", 1, "parallelism of the programs")
	output      = flag.String("o", "", "file for the figures, as JSON")
)

var (
	compiler program.Compiler
	results  report
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	compiler.Close()
	if err := results.publish(*output); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const (
	drainLimit = 10 * time.Minute
	stopLimit  = time.Minute
	look       = 10 * time.Millisecond // from one look at the progress to the next
	preload    = 20_000                // records in one call while a topic is filled
)

// uncompressed keeps topics as figures elsewhere have them: the records here are so much alike that compressed they would be a
// tenth, and expand in the program's memory to what no real topic does.
const uncompressed = "compression.type=uncompressed"

// bed is an example on a broker of its own.
type bed struct {
	workload
	broker *kafkatest.Broker
	binary string
	state  string
}

func newBed(b *testing.B, w workload) *bed {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", w.example+".eo"))
	if err != nil {
		b.Fatal(err)
	}
	bed := &bed{workload: w, binary: compiler.Build(b, w.example, string(text), program.Mode{}), state: filepath.Join(b.TempDir(), "state")}
	bed.broker = kafkatest.Start(b, kafkatest.Options{Heap: "1g"})
	for _, topic := range w.inputs {
		bed.broker.CreateTopic(b, topic, partitions, uncompressed)
	}
	for _, topic := range w.outputs {
		bed.broker.CreateTopic(b, topic, partitions, uncompressed)
	}
	return bed
}

func (d *bed) start(b *testing.B) *program.Process {
	b.Helper()
	return program.Start(b, d.binary, program.Config{Env: []string{
		"EO_BROKERS=" + d.broker.Addr, "EO_STATE=" + d.state, fmt.Sprint("EO_CHECKPOINT_INTERVAL=", *interval),
		fmt.Sprint("EO_PARALLELISM=", *parallelism),
	}})
}

// stop stops the program and returns the CPU time of its whole life.
func (d *bed) stop(b *testing.B, p *program.Process) time.Duration {
	b.Helper()
	p.Signal(b, syscall.SIGTERM)
	if exit := p.Wait(b, stopLimit, "stop"); exit.Code != 0 {
		b.Fatalf("stop: %v; the end of its log:\n%s", exit, p.Tail(40))
	}
	u := p.Usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDrain measures how each example drains full topics.
func BenchmarkDrain(b *testing.B) {
	for _, w := range workloads {
		b.Run(w.example, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				d := newBed(b, w)
				d.fill(b)
				b.StartTimer()
				d.drain(b)
			}
		})
	}
}

// fill writes all records.
func (d *bed) fill(b *testing.B) {
	b.Helper()
	for n := 0; n < *records; {
		batches := map[string][]kafkatest.Record{}
		for range min(preload, *records-n) {
			at := firstEvent.Add(time.Duration(n/d.perMilli) * time.Millisecond)
			batches[d.inputOf(n)] = append(batches[d.inputOf(n)], d.record(n, at))
			n++
		}
		for topic, batch := range batches {
			d.broker.Produce(b, topic, batch...)
		}
	}
}

func (d *bed) drain(b *testing.B) {
	b.Helper()
	began := time.Now()
	p := d.start(b)
	samples := []sample{{at: began}}
	for samples[len(samples)-1].read < *records {
		select {
		case <-p.Done():
			b.Fatalf("the program has ended: %v; the end of its log:\n%s", p.Exit(), p.Tail(40))
		case <-time.After(look):
		}
		read := d.read(b)
		cpu, err := cpuTime(p.Pid())
		if err != nil {
			b.Fatal(err)
		}
		now := time.Now()
		if read > samples[len(samples)-1].read {
			samples = append(samples, sample{now, read, cpu})
		}
		if now.Sub(began) > drainLimit {
			b.Fatalf("%d of %d records are drained after %v; the end of the log:\n%s", read, *records, drainLimit, p.Tail(40))
		}
	}
	peak, err := peakMemory(p.Pid())
	if err != nil {
		b.Fatal(err)
	}
	r := drained{Example: d.example, Records: *records, PeakBytes: peak}
	r.Wall, r.CPU = samples[len(samples)-1].at.Sub(began), d.stop(b, p)
	from, to := *records/4, *records/100*95
	r.SteadyRecords = to - from
	r.SteadyWall, r.SteadyCPU = steady(samples, from, to)
	results.add(r)
	b.ReportMetric(perMillion(r.CPU, r.Records), "cpu-s/M")
	b.ReportMetric(perMillion(r.SteadyCPU, r.SteadyRecords), "steady-cpu-s/M")
	b.ReportMetric(float64(r.SteadyRecords)/r.SteadyWall.Seconds(), "steady-records/s")
}

// read is how many records the markers say are read.
func (d *bed) read(b *testing.B) int {
	b.Helper()
	sum := 0
	for _, topic := range d.inputs {
		ctx, cancel := context.WithTimeout(b.Context(), stopLimit)
		offsets, err := d.broker.Committed(ctx, "eo-"+d.example, topic)
		cancel()
		if err != nil {
			b.Fatal(err)
		}
		for _, next := range offsets {
			sum += int(next)
		}
	}
	return sum
}

// BenchmarkLatency measures how long after a result is due a read_committed reader has it. A result is due when the record is
// written that closes its window, or without a window the record that it is made of.
func BenchmarkLatency(b *testing.B) {
	for _, w := range workloads {
		b.Run(w.example, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				d := newBed(b, w)
				b.StartTimer()
				d.latency(b)
			}
		})
	}
}

// pace is how often records are written while latency is measured.
const pace = 5 * time.Millisecond

func (d *bed) latency(b *testing.B) {
	b.Helper()
	p := d.start(b)
	var mu sync.Mutex
	var late []time.Duration
	began := time.Now()
	warm := began.Add(time.Duration(*seconds) * time.Second / 5)
	speed := time.Duration(d.speed)
	d.broker.Follow(b, func(_ string, r kafkatest.Record) {
		now := time.Now()
		due := began.Add(r.Time.Add(d.wait).Sub(firstEvent) / speed)
		if due.After(warm) {
			mu.Lock()
			late = append(late, now.Sub(due))
			mu.Unlock()
		}
	}, d.outputs[0])

	tick := time.NewTicker(pace)
	defer tick.Stop()
	n := 0
	for at := range tick.C {
		passed := at.Sub(began)
		if passed > time.Duration(*seconds)*time.Second {
			break
		}
		batches := map[string][]kafkatest.Record{}
		for target := int(passed.Seconds() * float64(*rate)); n < target; n++ {
			batches[d.inputOf(n)] = append(batches[d.inputOf(n)], d.record(n, firstEvent.Add(speed*passed)))
		}
		for topic, batch := range batches {
			d.broker.Produce(b, topic, batch...)
		}
	}
	d.stop(b, p)
	mu.Lock()
	defer mu.Unlock()
	if len(late) == 0 {
		b.Fatalf("no results; the end of the program's log:\n%s", p.Tail(40))
	}
	r := delayed{Example: d.example, Results: len(late), P50: percentile(late, 0.5), P99: percentile(late, 0.99)}
	results.addLatency(r)
	b.ReportMetric(float64(r.P50.Milliseconds()), "p50-ms")
	b.ReportMetric(float64(r.P99.Milliseconds()), "p99-ms")
}
