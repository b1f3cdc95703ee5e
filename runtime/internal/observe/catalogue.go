package observe

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// metric is one name of what is exposed, and how its series are made. One of values and histogram is set.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string // beside pipeline
	values     func(v view, emit func(value float64, labels ...string))
	histogram  func(v view, emit func(h engine.Histogram, labels ...string))
}

// Labels, by what there is one series for.
var (
	byNothing   []string
	byOperator  = []string{"operator", "place"}
	byPartition = []string{"source", "topic", "partition"}
)

// catalogue lists every metric. docs/operations.md has the same list, as a test sees to. Metrics that are counted since
// checkpoint 0 go on over starts; the other ones begin at 0 with the process, as Prometheus expects it.
func catalogue() []metric {
	all := []metric{
		gauge("eo_build_info", "Always 1: the labels say what the program was made of.", []string{"file", "compiler"}, func(v view, emit emitter) {
			emit(1, v.about.File, v.about.Compiler)
		}),
		gauge("eo_phase", "1 for the phase of the pipeline's life, 0 for the other ones.", []string{"phase"}, func(v view, emit emitter) {
			for p := engine.Starting; p <= engine.Finished; p++ {
				emit(bit(p == v.Phase), p.String())
			}
		}),
		gauge("eo_ready", "1 if the pipeline processes its input, as /readyz says.", byNothing, func(v view, emit emitter) {
			emit(bit(len(Ready(v.Status, v.now)) == 0))
		}),
		counter("eo_restarts_total", "Times that the pipeline went back to its last checkpoint after a fault of network or brokers.", byNothing, func(v view, emit emitter) {
			emit(float64(v.Restarts))
		}),
		gauge("eo_last_failure_timestamp_seconds", "When an attempt to run last failed; absent if none did.", byNothing, func(v view, emit emitter) {
			if v.Failure != nil {
				emit(seconds(v.Failure.At))
			}
		}),
	}
	all = append(all, checkpointMetrics()...)
	all = append(all, recordMetrics()...)
	return append(all, timeMetrics()...)
}

func checkpointMetrics() []metric {
	return []metric{
		counter("eo_checkpoints_total", "Checkpoints that were completed.", byNothing, func(v view, emit emitter) { emit(float64(v.Checkpoints)) }),
		counter("eo_checkpoints_abandoned_total", "Checkpoints that were begun and not completed: what they held was read again.", byNothing, func(v view, emit emitter) {
			emit(float64(v.Abandoned))
		}),
		gauge("eo_checkpoint_interval_seconds", "Time from one checkpoint to the next, if there is something new.", byNothing, func(v view, emit emitter) {
			emit(v.Interval.Seconds())
		}),
		gauge("eo_checkpoint_overdue_seconds", "Age of the last checkpoint at which a running pipeline is not ready.", byNothing, func(v view, emit emitter) {
			emit(Overdue(v.Interval).Seconds())
		}),
		gauge("eo_checkpoint_in_flight_seconds", "Age of the checkpoint that is on its way; 0 if none is.", byNothing, func(v view, emit emitter) {
			if v.InFlight == nil {
				emit(0)
				return
			}
			emit(max(0, v.now.Sub(v.InFlight.Since).Seconds()))
		}),
		gauge("eo_checkpoint_number", "Number of the last completed checkpoint; absent before the first of this process.", byNothing, last(func(c *engine.CheckpointStatus) float64 {
			return float64(c.Number)
		})),
		gauge("eo_checkpoint_last_timestamp_seconds", "When the last checkpoint was completed; absent before the first of this process.", byNothing, last(func(c *engine.CheckpointStatus) float64 {
			return seconds(c.At)
		})),
		gauge("eo_checkpoint_last_size_bytes", "Changed state that the last checkpoint saved; absent before the first of this process.", byNothing, last(func(c *engine.CheckpointStatus) float64 {
			return float64(c.Bytes)
		})),
		gauge("eo_state_file_bytes", "Size of the state's file, as of the last checkpoint; absent before the first of this process, and with state in memory.", byNothing, func(v view, emit emitter) {
			if v.StateBytes > 0 {
				emit(float64(v.StateBytes))
			}
		}),
		{name: "eo_checkpoint_duration_seconds", help: "From the barrier of a checkpoint to its confirmation.",
			histogram: func(v view, emit func(engine.Histogram, ...string)) { emit(v.Took.Total) }},
		{name: "eo_checkpoint_part_duration_seconds", help: "Parts of that: align (barrier through all tasks), flush (records acknowledged), store (on disk), commit (transaction), confirm (on disk).",
			labels: []string{"part"}, histogram: func(v view, emit func(engine.Histogram, ...string)) {
				emit(v.Took.Align, "align")
				emit(v.Took.Flush, "flush")
				emit(v.Took.Store, "store")
				emit(v.Took.Commit, "commit")
				emit(v.Took.Confirm, "confirm")
			}},
		counter("eo_transactions_total", "Transactions that were committed.", byNothing, func(v view, emit emitter) { emit(float64(v.Transactions)) }),
		gauge("eo_output_held_offsets", "Offsets of the sinks that readers of committed records do not see although their transaction has ended; the log names the partitions.",
			byNothing, func(v view, emit emitter) {
				var sum int64
				for _, h := range v.Held {
					sum += h.End - h.Stable
				}
				emit(float64(sum))
			}),
	}
}

// last is of the newest checkpoint.
func last(value func(*engine.CheckpointStatus) float64) func(view, emitter) {
	return func(v view, emit emitter) {
		if v.Checkpoint != nil {
			emit(value(v.Checkpoint))
		}
	}
}

func recordMetrics() []metric {
	var all []metric
	for _, c := range []struct{ count, help string }{
		{"read", "Records that a source has read."},
		{"null", "Records without a value, which a source passes over."},
		{"rejected", "Records or results at fault: dead letters, or skipped."},
		{"ahead", "Records too far ahead of their Kafka timestamp to move the watermark; they are used."},
		{"filtered", "Records that a condition dropped, or no target took."},
		{"late", "Records behind the watermark of their partition."},
		{"aggregated", "Records that were taken into a window."},
		{"out", "Records written to a sink or dead-letter topic."},
	} {
		all = append(all, counter("eo_records_"+c.count+"_total", c.help+" As of the last checkpoint, over all starts.", byOperator, func(v view, emit emitter) {
			for _, t := range v.Totals {
				if t.Name == c.count {
					emit(float64(t.N), t.Operator, t.Place)
				}
			}
		}))
	}
	const again = " Since the process began, repeated ones included."
	return append(all,
		counter("eo_records_sent_total", "Records given to the producer."+again, byOperator, ofSinks(func(s engine.SinkStatus) int64 { return s.Records })),
		counter("eo_sent_bytes_total", "Keys, values and headers given to the producer, before compression."+again, byOperator, ofSinks(func(s engine.SinkStatus) int64 { return s.Bytes })),
		counter("eo_records_clamped_total", "Records whose Kafka timestamp was moved to the nearest that brokers take."+again, byOperator, ofSinks(func(s engine.SinkStatus) int64 { return s.Clamped })),
		counter("eo_records_lost_total", "Records of a sink of delivery none that did not arrive."+again, byOperator, ofSinks(func(s engine.SinkStatus) int64 { return s.Lost })),
	)
}

func ofSinks(value func(engine.SinkStatus) int64) func(view, emitter) {
	return func(v view, emit emitter) {
		for _, s := range v.Sinks {
			emit(float64(value(s)), s.Name, s.Place)
		}
	}
}

func timeMetrics() []metric {
	return []metric{
		gauge("eo_watermark_timestamp_seconds", "Event time up to which the windows of an operator are closed; absent before the first record and at the end.", byOperator, func(v view, emit emitter) {
			for _, o := range v.Operators {
				if isTime(o.W) {
					emit(micros(o.W), o.ID, o.Place)
				}
			}
		}),
		gauge("eo_watermark_lag_seconds", "How far the watermark of an operator is behind the clock.", byOperator, func(v view, emit emitter) {
			for _, o := range v.Operators {
				if isTime(o.W) {
					emit(v.lag(o.W), o.ID, o.Place)
				}
			}
		}),
		gauge("eo_window_keys", "Keys in the open windows of an operator, each once for each window: what its memory is for. As of the last checkpoint; absent before the first of this process.",
			byOperator, func(v view, emit emitter) {
				for _, o := range v.Operators {
					if o.Keys != engine.Unknown {
						emit(float64(o.Keys), o.ID, o.Place)
					}
				}
			}),
		gauge("eo_partitions", "Partitions of a source by state: active, idle (nothing new: holds no window open), paused (too far ahead of the others), at-bound (read to the end of a bounded run).",
			[]string{"source", "topic", "state"}, partitionStates),
		gauge("eo_partition_next_offset", "Offset of the record to read next.", byPartition, ofPartitions(func(_ view, p engine.PartitionStatus) (float64, bool) {
			return float64(p.Next), true
		})),
		gauge("eo_partition_lag_offsets", "Offsets that were not read yet, up to the high watermark; absent until the broker has told of it.", byPartition, ofPartitions(func(_ view, p engine.PartitionStatus) (float64, bool) {
			return float64(p.Lag()), p.Lag() != engine.Unknown
		})),
		gauge("eo_partition_stable_lag_offsets", "Offsets of these up to the last stable one: what lies behind waits for an open transaction of somebody else.", byPartition, ofPartitions(func(_ view, p engine.PartitionStatus) (float64, bool) {
			return float64(p.StableLag()), p.StableLag() != engine.Unknown
		})),
		gauge("eo_partition_watermark_timestamp_seconds", "Watermark of a partition; absent before its first record.", byPartition, ofPartitions(func(_ view, p engine.PartitionStatus) (float64, bool) {
			return micros(p.Watermark), isTime(p.Watermark)
		})),
		gauge("eo_partition_watermark_lag_seconds", "How far the watermark of a partition is behind the clock.", byPartition, ofPartitions(func(v view, p engine.PartitionStatus) (float64, bool) {
			return v.lag(p.Watermark), isTime(p.Watermark)
		})),
	}
}

// partitionStates counts the partitions of each source in each state.
func partitionStates(v view, emit emitter) {
	type key struct{ source, topic string }
	var order []key
	counts := map[key]*[engine.AtBound + 1]int{}
	for _, p := range v.Partitions {
		k := key{p.Source, p.Topic}
		if counts[k] == nil {
			counts[k] = new([engine.AtBound + 1]int)
			order = append(order, k)
		}
		counts[k][p.State]++
	}
	for _, k := range order {
		for state, n := range counts[k] {
			emit(float64(n), k.source, k.topic, engine.PartitionState(state).String())
		}
	}
}

func ofPartitions(value func(view, engine.PartitionStatus) (float64, bool)) func(view, emitter) {
	return func(v view, emit emitter) {
		for _, p := range v.Partitions {
			if x, ok := value(v, p); ok {
				emit(x, p.Source, p.Topic, strconv.Itoa(int(p.ID)))
			}
		}
	}
}

// emitter takes the value of a series with its labels, but for pipeline.
type emitter = func(value float64, labels ...string)

func gauge(name, help string, labels []string, values func(view, emitter)) metric {
	return metric{name: name, help: help, kind: prometheus.GaugeValue, labels: labels, values: values}
}

func counter(name, help string, labels []string, values func(view, emitter)) metric {
	return metric{name: name, help: help, kind: prometheus.CounterValue, labels: labels, values: values}
}
