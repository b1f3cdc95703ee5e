package doctor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// slackShare is the part of a source's retention that should be left when a record is read: with less, a longer pause loses input.
const slackShare = 0.25

// times compares how old the input is that waits with how long topics keep what they have: sources their records, sinks the results, whose
// Kafka timestamp is their event time.
func (x *exam) times(ctx context.Context) {
	if !x.needsAll("input") {
		x.unknown("retention", "", "there is no contact to the cluster")
		return
	}
	if !x.begins() && x.view.Newest.Ended && x.outlook != nil {
		x.ok("input", "", "nothing is read any more: the run has ended for good")
		x.ok("retention", "", "nothing is written any more")
		return
	}
	next, ends := x.next()
	if next == nil {
		x.unknown("input", "", "where reading would go on is not known")
		x.unknown("retention", "", "where reading would go on is not known")
		return
	}
	if x.outlook != nil {
		for _, lost := range x.outlook.Lost {
			x.lost(lost)
		}
	}
	waits, oldest := map[int]int64{}, map[int]waiting{}
	for n := range x.clusters {
		here := slices.DeleteFunc(slices.Clone(next), func(p engine.Position) bool { return x.Spec.Sources[p.Source].Connection != n })
		if err := x.wait(ctx, x.clusters[n], here, ends, waits, oldest); err != nil {
			x.unknown("input", "", "%v", err)
			x.unknown("retention", "", "%v", err)
			return
		}
	}
	x.input(waits, oldest)
	x.results(oldest)
}

// lost tells of input that is gone.
func (x *exam) lost(err error) {
	x.fail("input", "", err)
	if x.Settings.AcceptLoss {
		x.soften("--accept-loss goes on without it")
	}
}

// waiting is the oldest record of a source that was not read yet.
type waiting struct {
	at    engine.Position
	since time.Time
}

// next is where reading goes on, and where it ends: as a start would, or as the running program had read at its last checkpoint.
func (x *exam) next() (out []engine.Position, ends engine.Ends) {
	if x.outlook != nil {
		return x.outlook.Next, x.outlook.Ends
	}
	if !x.running() || x.view == nil || x.view.Newest == nil {
		return nil, nil
	}
	ends = engine.Ends{}
	for _, p := range x.view.Newest.Partitions {
		i := slices.IndexFunc(x.Spec.Sources, func(s engine.SourceSpec) bool { return s.Name == p.Source })
		if i >= 0 && x.of(x.Spec.Sources[i]).Partitions > p.ID {
			at := engine.Position{Source: i, Topic: p.Topic, TopicID: p.TopicID, Partition: p.ID, Next: p.Next}
			if out = append(out, at); p.Bound >= 0 {
				ends[at] = p.Bound
			}
		}
	}
	return out, ends
}

// wait asks a cluster how far its partitions go, and adds up for each source, by index, what waits and which record is the oldest. What is behind the end
// of a run is not waited for.
func (x *exam) wait(ctx context.Context, cluster *kafka.Cluster, next []engine.Position, bounds engine.Ends, waits map[int]int64, oldest map[int]waiting) (err error) {
	ids := map[string][]int32{}
	for _, p := range next {
		ids[p.Topic] = append(ids[p.Topic], p.Partition)
	}
	ends := map[string]map[int32]int64{}
	for topic, list := range ids {
		if ends[topic], err = cluster.Offsets(ctx, topic, list, engine.OffsetAt{Kind: engine.End}); err != nil {
			return err
		}
	}
	for _, p := range next {
		if bound, ok := bounds[p]; ok {
			ends[p.Topic][p.Partition] = min(ends[p.Topic][p.Partition], bound)
		}
	}
	at, err := cluster.Times(ctx, next, ends)
	if err != nil {
		return err
	}
	for _, p := range next {
		waits[p.Source] += max(0, ends[p.Topic][p.Partition]-p.Next)
		t, ok := at[p]
		if o, seen := oldest[p.Source]; ok && (!seen || t.Before(o.since)) {
			oldest[p.Source] = waiting{p, t}
		}
	}
	return nil
}

// input says for each source what waits, and how long it is kept.
func (x *exam) input(waits map[int]int64, oldest map[int]waiting) {
	const name = "input"
	for i, s := range x.Spec.Sources {
		o, ok := oldest[i]
		if !ok {
			x.ok(name, s.Topic, "%s: nothing waits to be read", s.Topic)
			continue
		}
		old := max(0, time.Since(o.since))
		text := fmt.Sprintf("%s: %s %s, the oldest record is %s old (partition %d, offset %d)", s.Topic, words.Many(waits[i], "offset"), words.Does(waits[i], "waits", "wait"), age(old), o.at.Partition, o.at.Next)
		t := x.of(s)
		keep, limited := t.Settings.Millis("retention.ms")
		switch {
		case t.Settings == nil:
			x.unknown(name, s.Topic, "%s; how long the topic keeps records is not shown", text)
		case !limited || !deletes(t):
			x.ok(name, s.Topic, "%s; the topic keeps records for ever", text)
		case x.begins():
			x.ok(name, s.Topic, "%s; the topic keeps records for %s", text, age(keep))
		case old >= keep:
			x.warn(name, s.Topic, "start the program now, or raise retention.ms of the topic: what is deleted before it is read is lost (code 8)",
				"%s, and the topic keeps records for %s: they may be deleted at any time", text, age(keep))
		case float64(keep-old) < slackShare*float64(keep):
			x.warn(name, s.Topic, "start the program, or raise retention.ms of the topic: what is deleted before it is read is lost (code 8)",
				"%s, and the topic keeps records for %s: they may be deleted in %s", text, age(keep), age(keep-old))
		default:
			x.ok(name, s.Topic, "%s; the topic keeps records for %s", text, age(keep))
		}
	}
}

// begins says whether the state is new: what is deleted before that is no loss.
func (x *exam) begins() bool { return x.view == nil || x.view.Newest == nil || x.Settings.Fresh }

func deletes(t kafka.TopicDetails) bool {
	return t.Settings["cleanup.policy"] != "compact"
}

// origin is what the next results are made of, as old as it can be.
type origin struct {
	since time.Time // zero: there is nothing
	what  string    // whose results they are, in words
}

// origins is the oldest of what waits to be read and of the windows that are open in the state: their results are as old as the watermark, however
// young the record is that is read next.
func (x *exam) origins(oldest map[int]waiting) origin {
	var from origin
	for _, o := range oldest {
		if from.since.IsZero() || o.since.Before(from.since) {
			from = origin{o.since, "input that waits in " + o.at.Topic}
		}
	}
	if x.begins() || x.view.Newest.Ended {
		return from
	}
	for _, w := range x.view.Newest.Watermarks {
		i := slices.IndexFunc(x.view.Operators, func(o state.OperatorView) bool { return o.ID == w.Operator })
		if i < 0 || x.view.Operators[i].Bytes() == 0 || w.W == math.MinInt64 || w.W == math.MaxInt64 {
			continue
		}
		if at := time.UnixMicro(w.W); from.since.IsZero() || at.Before(from.since) {
			from = origin{at, "windows of " + w.Operator + " that may still be open in the state"}
		}
	}
	return from
}

// results compares the age of what results are made of with what sinks keep and take.
func (x *exam) results(oldest map[int]waiting) {
	const name = "retention"
	from := x.origins(oldest)
	seen := map[string]bool{}
	for _, s := range x.Spec.Sinks {
		t := x.details[0][s.Topic]
		if seen[s.Topic] || t.Partitions == 0 {
			continue
		}
		seen[s.Topic] = true
		keep, limited := t.Settings.Millis("retention.ms")
		before, refuses := t.Settings.Millis("message.timestamp.before.max.ms")
		old := time.Since(from.since)
		switch {
		case t.Settings == nil:
			x.unknown(name, s.Topic, "how long %s keeps results is not shown", s.Topic)
		case t.Settings["message.timestamp.type"] == "LogAppendTime":
			x.ok(name, s.Topic, "%s counts from when results are written (LogAppendTime)", s.Topic)
		case from.since.IsZero():
			x.ok(name, s.Topic, "%s keeps results for %s", s.Topic, forever(keep, limited && deletes(t)))
		case refuses && old > before:
			x.refuse(name, s.Topic, fmt.Sprintf("raise message.timestamp.before.max.ms of %s", s.Topic),
				"%s refuses records whose time is more than %s ago, and %s: the Kafka timestamp of a result is its event time", s.Topic, age(before), from.aged(old))
		case limited && deletes(t) && old > keep:
			x.warn(name, s.Topic, fmt.Sprintf("give %s a retention.ms of at least %d", s.Topic, old.Milliseconds()),
				"%s keeps results for %s from their event time, and %s: what is made of that is deleted within minutes", s.Topic, age(keep), from.aged(old))
		default:
			x.ok(name, s.Topic, "%s keeps results for %s; %s", s.Topic, forever(keep, limited && deletes(t)), from.aged(max(0, old)))
		}
	}
}

func (o origin) aged(old time.Duration) string {
	if strings.HasPrefix(o.what, "windows") {
		return o.what + " are " + age(old) + " old"
	}
	return o.what + " is " + age(old) + " old"
}

func forever(d time.Duration, limited bool) string {
	if !limited {
		return "ever"
	}
	return age(d)
}
