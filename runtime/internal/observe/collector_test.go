package observe

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// full is a status in which every metric has something to say.
func full(now time.Time) engine.Status {
	total := func(name string, n int64) engine.Total {
		return engine.Total{CounterSpec: engine.CounterSpec{Operator: "a/" + name, Place: "a.eo:1", Name: name}, N: n}
	}
	return engine.Status{
		Pipeline: "a", Interval: time.Second, Phase: engine.Running, Since: now.Add(-time.Hour), Restarts: 2, Failure: &engine.Failure{At: now.Add(-time.Hour)},
		Checkpoint: &engine.CheckpointStatus{Number: 7, At: now.Add(-time.Second), Bytes: 99}, StateBytes: 65536, Checkpoints: 6, Abandoned: 1, Transactions: 5,
		Operators: []engine.OperatorStatus{{ID: "a/window", Place: "a.eo:2", W: 1_500_000, Keys: 21}, {ID: "b/window", Place: "a.eo:3", W: math.MinInt64, Keys: engine.Unknown}, {ID: "c/window", Place: "a.eo:4", W: math.MaxInt64, Keys: engine.Unknown}},
		Partitions: []engine.PartitionStatus{
			{Source: "s", Topic: "t", ID: 0, State: engine.Active, Next: 5, Watermark: 2_000_000, End: 9, Stable: 7},
			{Source: "s", Topic: "t", ID: 1, State: engine.Idle, Next: 5, Watermark: math.MinInt64, End: engine.Unknown, Stable: engine.Unknown},
			{Source: "s", Topic: "t", ID: 2, State: engine.Active, Next: 5, Watermark: 0, End: 5, Stable: 5},
		},
		Totals: []engine.Total{total("read", 1), total("null", 2), total("rejected", 3), total("ahead", 4), total("filtered", 5), total("late", 6), total("aggregated", 7), total("out", 8)},
		Sinks:  []engine.SinkStatus{{Name: "out", Topic: "o", Place: "a.eo:9", Records: 11, Bytes: 12, Clamped: 13, Lost: 14}},
		Held:   []engine.Held{{Topic: "o", Partition: 2, Stable: 5, End: 8}, {Topic: "o", Partition: 3, Stable: 1, End: 3}},
	}
}

// scrape is what /metrics says, a line for each series.
func scrape(t *testing.T, s *Server) map[string]string {
	t.Helper()
	code, _, body := get(t, s, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("/metrics: %d %s", code, body)
	}
	series := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), "} "); ok && !strings.HasPrefix(name, "#") {
			series[name+"}"] = value
		}
	}
	return series
}

func TestMetrics(t *testing.T) {
	now := time.Now()
	s := serve(t, func(s *Server) {
		s.MountMetrics(About{Pipeline: "a", File: "a.eo", Compiler: "eoc v1"}, func() engine.Status { return full(now) })
	})
	got := scrape(t, s)
	for series, want := range map[string]string{
		`eo_build_info{compiler="eoc v1",file="a.eo",pipeline="a"}`:                                 "1",
		`eo_phase{phase="running",pipeline="a"}`:                                                    "1",
		`eo_phase{phase="starting",pipeline="a"}`:                                                   "0",
		`eo_ready{pipeline="a"}`:                                                                    "1",
		`eo_restarts_total{pipeline="a"}`:                                                           "2",
		`eo_checkpoint_number{pipeline="a"}`:                                                        "7",
		`eo_checkpoint_last_size_bytes{pipeline="a"}`:                                               "99",
		`eo_state_file_bytes{pipeline="a"}`:                                                         "65536",
		`eo_checkpoint_in_flight_seconds{pipeline="a"}`:                                             "0",
		`eo_checkpoints_total{pipeline="a"}`:                                                        "6",
		`eo_checkpoints_abandoned_total{pipeline="a"}`:                                              "1",
		`eo_transactions_total{pipeline="a"}`:                                                       "5",
		`eo_output_held_offsets{pipeline="a"}`:                                                      "5",
		`eo_watermark_timestamp_seconds{operator="a/window",pipeline="a",place="a.eo:2"}`:           "1.5",
		`eo_window_keys{operator="a/window",pipeline="a",place="a.eo:2"}`:                           "21",
		`eo_records_read_total{operator="a/read",pipeline="a",place="a.eo:1"}`:                      "1",
		`eo_records_out_total{operator="a/out",pipeline="a",place="a.eo:1"}`:                        "8",
		`eo_records_sent_total{operator="out",pipeline="a",place="a.eo:9"}`:                         "11",
		`eo_sent_bytes_total{operator="out",pipeline="a",place="a.eo:9"}`:                           "12",
		`eo_records_clamped_total{operator="out",pipeline="a",place="a.eo:9"}`:                      "13",
		`eo_records_lost_total{operator="out",pipeline="a",place="a.eo:9"}`:                         "14",
		`eo_partition_lag_offsets{partition="0",pipeline="a",source="s",topic="t"}`:                 "4",
		`eo_partition_stable_lag_offsets{partition="0",pipeline="a",source="s",topic="t"}`:          "2",
		`eo_partition_next_offset{partition="1",pipeline="a",source="s",topic="t"}`:                 "5",
		`eo_partition_watermark_timestamp_seconds{partition="2",pipeline="a",source="s",topic="t"}`: "0",
		`eo_partitions{pipeline="a",source="s",state="active",topic="t"}`:                           "2",
		`eo_partitions{pipeline="a",source="s",state="idle",topic="t"}`:                             "1",
		`eo_partitions{pipeline="a",source="s",state="at-bound",topic="t"}`:                         "0",
		`eo_checkpoint_part_duration_seconds_bucket{part="store",pipeline="a",le="+Inf"}`:           "0",
	} {
		if got[series] != want {
			t.Errorf("%s is %q, want %q", series, got[series], want)
		}
	}
	// What is not known is not there.
	for series := range got {
		for _, absent := range []string{`operator="b/window"`, `operator="c/window"`, `eo_partition_lag_offsets{partition="1"`, `eo_partition_watermark_timestamp_seconds{partition="1"`} {
			if strings.Contains(series, absent) {
				t.Errorf("%s is there", series)
			}
		}
	}
	for _, m := range catalogue() {
		found := false
		for series := range got {
			found = found || strings.HasPrefix(series, m.name+"{") || m.histogram != nil && strings.HasPrefix(series, m.name+"_bucket{")
		}
		if !found {
			t.Errorf("%s is not there", m.name)
		}
	}
	if got[`go_goroutines`] == "" && !strings.Contains(fmt.Sprint(got), "go_info") {
		t.Error("there is nothing of Go and the process")
	}
}

// Several pipelines share a registry, whose names, types, units and help Prometheus' own lint has nothing against; two of one name do not, and who has ended leaves nothing behind.
func TestRegister(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	status := func() engine.Status { return full(time.Now()) }
	var leave []func()
	for _, name := range []string{"a", "b"} {
		unregister, err := Register(r, About{Pipeline: name}, status)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, unregister)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if len(problems) > 0 || err != nil {
		t.Errorf("promlint says %v, %v", problems, err)
	}
	for _, f := range families {
		pipelines := map[string]bool{}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "pipeline" {
					pipelines[l.GetValue()] = true
				}
			}
		}
		if len(pipelines) != 2 {
			t.Errorf("%s is of %v", f.GetName(), pipelines)
		}
	}
	if _, err := Register(r, About{Pipeline: "a"}, status); failure.KindOf(err) != failure.Usage {
		t.Errorf("a second pipeline a: %v", err)
	}
	for _, unregister := range leave {
		unregister()
	}
	if families, err := r.Gather(); len(families) > 0 || err != nil {
		t.Errorf("after the end there are %d families, %v", len(families), err)
	}
}

// docs/operations.md has a table of all metrics, in the order of the catalogue.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, m := range catalogue() {
		kind := "gauge"
		if m.histogram != nil {
			kind = "histogram"
		} else if strings.HasSuffix(m.name, "_total") {
			kind = "counter"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", m.name, kind, strings.Join(m.labels, ", "), strings.TrimSuffix(m.help, "."))
	}
	if !strings.Contains(string(text), "|---|---|---|---|\n"+table.String()+"\n") {
		t.Errorf("docs/operations.md does not have this table:\n%s", &table)
	}
}

// Names keep the rules of Prometheus (https://github.com/prometheus/docs, practices/naming): counters and no others end in _total, and units are base units.
func TestNames(t *testing.T) {
	for _, m := range catalogue() {
		if total := strings.HasSuffix(m.name, "_total"); total != (m.kind == prometheus.CounterValue && m.histogram == nil) {
			t.Errorf("%s is of kind %v", m.name, m.kind)
		}
		if !strings.HasPrefix(m.name, "eo_") || !strings.HasSuffix(m.help, ".") || (m.values == nil) == (m.histogram == nil) {
			t.Errorf("%s has no prefix, its help no full stop, or it has no series: %+v", m.name, m)
		}
	}
}
