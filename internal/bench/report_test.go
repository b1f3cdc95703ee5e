//go:build unix

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// drained is what draining a topic took. Durations are nanoseconds in the file.
type drained struct {
	Example               string
	Records               int
	Wall, CPU             time.Duration // of the whole run
	SteadyRecords         int           // of the steady part
	SteadyWall, SteadyCPU time.Duration
	PeakBytes             int64
}

// delayed is how long results took.
type delayed struct {
	Example  string
	Results  int
	P50, P99 time.Duration
}

// report is all that was measured in one go. The two benchmarks fill it one after the other.
type report struct {
	Machine struct {
		Cores             int
		System, Go, Kafka string
	}
	Interval time.Duration
	Tasks    int
	Rate     int // records per second of Latency
	Drain    []drained
	Latency  []delayed
}

func (r *report) add(d drained)        { r.Drain = append(r.Drain, d) }
func (r *report) addLatency(d delayed) { r.Latency = append(r.Latency, d) }

// publish prints the table, and writes the file if it has a name. Without figures it does nothing.
func (r *report) publish(file string) error {
	if len(r.Drain)+len(r.Latency) == 0 {
		return nil
	}
	r.Machine.Cores, r.Machine.System = runtime.NumCPU(), runtime.GOOS+"/"+runtime.GOARCH
	r.Machine.Go, r.Machine.Kafka = runtime.Version(), kafkatest.Version
	r.Interval, r.Tasks, r.Rate = *interval, *parallelism, *rate
	r.table()
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func (r *report) table() {
	fmt.Printf("\nexactly once, checkpoint interval %v, tasks %d, %d cores shared with Kafka %s\n\n",
		r.Interval, r.Tasks, r.Machine.Cores, r.Machine.Kafka)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	if len(r.Drain) > 0 {
		fmt.Fprintln(w, "drain\trecords\twhole: records/s\tCPU-s/million\tsteady: records/s\tCPU-s/million\tpeak MB\t")
	}
	for _, d := range r.Drain {
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.2f\t%.0f\t%.2f\t%d\t\n", d.Example, d.Records,
			float64(d.Records)/d.Wall.Seconds(), perMillion(d.CPU, d.Records),
			float64(d.SteadyRecords)/d.SteadyWall.Seconds(), perMillion(d.SteadyCPU, d.SteadyRecords), d.PeakBytes/1e6)
	}
	if len(r.Latency) > 0 {
		fmt.Fprintf(w, "\nlatency at %d/s\tresults\tp50 ms\tp99 ms\t\n", r.Rate)
	}
	for _, d := range r.Latency {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t\n", d.Example, d.Results, d.P50.Milliseconds(), d.P99.Milliseconds())
	}
	_ = w.Flush() // to standard output
}

// perMillion is CPU-seconds per million records.
func perMillion(cpu time.Duration, records int) float64 {
	return cpu.Seconds() / float64(records) * 1e6
}
