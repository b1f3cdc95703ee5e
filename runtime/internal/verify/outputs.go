package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// output is a partition of a sink's topic that is compared.
type output struct {
	checkpoint.Output
	sink  Sink
	parts []part // of what is compared, in the order of offsets
	at    int    // the part that is being read
	end   int64  // last stable offset when the reading began
	lacks int64  // the newest checkpoint at which comparing could have begun, if the topic or the account still had what is behind it; -1: none

	others      int64
	other       kafka.Committed // the first of them
	behind      int64           // own records behind the checkpoint
	behindFirst int64           // offset of the first
	compacted   bool
	mixed       bool // the program writes to the topic outside of transactions too
	own         map[int64]bool
}

// part is the records between two checkpoints.
type part struct {
	after, upTo int64 // checkpoints
	to          int64 // offset behind its last record
	want, got   checkpoint.Tally
}

// outputs compares what is in the topics with the account of the checkpoint.
func (a *auditor) outputs(ctx context.Context) error {
	const name = "sinks"
	account := a.cp.Account
	switch {
	case !a.cp.Exactly:
		a.add(name, "", Unchecked, "", "no sink is exactly_once: what their topics have to hold is not known")
		return nil
	case account == nil:
		a.add(name, "", Unknown, "run the program once: from its next checkpoint on it keeps what is needed", "the state was written by an earlier version of eoc, which does not keep what is in the topics")
		return nil
	}
	outs, err := a.prepare(ctx)
	if err != nil {
		return err
	}
	idle, err := a.still()
	if err != nil {
		return err
	}
	if err := a.read(ctx, outs, idle); err != nil {
		return err
	}
	for _, o := range outs {
		if o.sink.Verdict == "" {
			a.judge(o, idle)
		}
		a.report.Sinks = append(a.report.Sinks, o.sink)
	}
	a.plain()
	return nil
}

// plain says which sinks are left out.
func (a *auditor) plain() {
	for _, s := range a.Spec.Sinks {
		if s.Deliver != engine.ExactlyOnce {
			a.add("sinks", s.Topic, Unchecked, "", "sink %s writes to %s outside of transactions: what the topic has to hold is not known", s.Name, s.Topic)
		}
	}
}

// prepare finds out what can be compared of each partition, and from where to where.
func (a *auditor) prepare(ctx context.Context) ([]*output, error) {
	var outs []*output
	names := []string{}
	for _, o := range a.cp.Account.Outputs {
		if !slices.Contains(names, o.Topic) {
			names = append(names, o.Topic)
		}
	}
	details, err := a.cluster.Details(ctx, names)
	if err != nil {
		return nil, err
	}
	own := map[int64]bool{}
	for _, p := range a.cp.Account.Producers {
		own[p.ID] = true
	}
	firsts, ends := map[string]map[int32]int64{}, map[string]map[int32]int64{}
	for i, of := range a.cp.Account.Outputs {
		o := &output{Output: of, own: own, sink: Sink{Topic: of.Topic, Partition: of.Partition, Since: of.Since, From: of.From, To: of.From, Written: of.Records}}
		outs = append(outs, o)
		t := details[of.Topic]
		o.compacted = strings.Contains(t.Settings["cleanup.policy"], "compact") || t.Settings == nil
		o.mixed = slices.ContainsFunc(a.Spec.Sinks, func(s engine.SinkSpec) bool { return s.Topic == of.Topic && s.Deliver != engine.ExactlyOnce })
		if a.absent(o, t) {
			continue
		}
		if firsts[of.Topic] == nil {
			if firsts[of.Topic], ends[of.Topic], err = a.extent(ctx, of.Topic, t.Partitions); err != nil {
				return nil, err
			}
		}
		if err := a.reaches(ctx, o, ends[of.Topic]); err != nil {
			return nil, err
		}
		if o.end = ends[of.Topic][of.Partition]; o.sink.Verdict == "" {
			o.begin(a.starts(i), a.cp.Account.Forgotten, firsts[of.Topic][of.Partition], a.cp.Number)
		}
	}
	a.alike(outs)
	return outs, nil
}

// absent says whether the topic is not the one that was written to.
func (a *auditor) absent(o *output, t kafka.TopicDetails) bool {
	switch {
	case t.Err != nil:
		o.sink.unknown("grant DESCRIBE and READ on the topic", "the topic cannot be seen: %v", t.Err)
	case t.Partitions == 0:
		o.sink.unknown("if that was meant to be so, make it again and start the program, which then compares the new one", "the topic does not exist any more, and with it %s", words.Many(o.Records, "record"))
	case t.ID != o.TopicID && slices.ContainsFunc(a.cp.Account.Outputs, func(n checkpoint.Output) bool { return n.Topic == o.Topic && n.TopicID == t.ID }):
		o.sink.Verdict = Unchecked
		o.sink.Text = fmt.Sprintf("the topic was deleted and made again: %s that %s written to the one before (id %s) %s gone with it, and only those in the new one are compared",
			words.Many(o.Records, "record"), words.Does(o.Records, "was", "were"), o.TopicID, words.Does(o.Records, "is", "are"))
	case t.ID != o.TopicID:
		o.sink.unknown("if that was meant to be so, start the program once: from its next checkpoint on the new one is compared", "the topic was deleted and made again: %s %s written to the one before (id %s)", words.Many(o.Records, "record"), words.Does(o.Records, "was", "were"), o.TopicID)
	default:
		return false
	}
	return true
}

func (s *Sink) unknown(help, text string, args ...any) {
	s.Verdict, s.Text, s.Help = Unknown, fmt.Sprintf(text, args...), help
}

func (s *Sink) differs(help, text string, args ...any) {
	s.Verdict, s.Text, s.Help = Differs, fmt.Sprintf(text, args...), help
}

// extent is the first offset and the last stable one of each partition.
func (a *auditor) extent(ctx context.Context, topic string, partitions int32) (first, end map[int32]int64, err error) {
	ids := make([]int32, partitions)
	for i := range ids {
		ids[i] = int32(i)
	}
	if first, err = a.cluster.Offsets(ctx, topic, ids, engine.OffsetAt{Kind: engine.First}); err != nil {
		return nil, nil, err
	}
	end, err = a.cluster.Offsets(ctx, topic, ids, engine.OffsetAt{Kind: engine.LastStable})
	return first, end, err
}

// reaches checks that a reader gets as far as the account goes. Brokers write the end markers of a transaction behind their answer to its commit, so the
// pipeline's own are waited for.
func (a *auditor) reaches(ctx context.Context, o *output, ends map[int32]int64) error {
	part := []int32{o.Partition}
	for began := time.Now(); ends[o.Partition] < o.Next; {
		held, err := a.holder(ctx, o)
		if err != nil {
			return err
		}
		if len(held.Holds) > 0 && !o.own[held.Holds[0].Producer] || time.Since(began) > settleLimit {
			return a.short(ctx, o, ends[o.Partition], held)
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := a.cluster.Offsets(ctx, o.Topic, part, engine.OffsetAt{Kind: engine.LastStable})
		if err != nil {
			return err
		}
		ends[o.Partition] = now[o.Partition]
	}
	return nil
}

// holder is what holds readers of the partition back, if anything does.
func (a *auditor) holder(ctx context.Context, o *output) (engine.Held, error) {
	all, err := engine.BehindIn(ctx, a.cluster, o.Topic, []int32{o.Partition})
	if err == nil {
		all, err = engine.HeldBack(ctx, a.cluster, all, engine.Hold.Ended)
	}
	if err != nil || len(all) == 0 {
		return engine.Held{}, err
	}
	return all[0], nil
}

// short says why a reader does not get as far as the account goes.
func (a *auditor) short(ctx context.Context, o *output, end int64, held engine.Held) error {
	high, err := a.cluster.Offsets(ctx, o.Topic, []int32{o.Partition}, engine.OffsetAt{Kind: engine.End})
	if err != nil {
		return err
	}
	if high[o.Partition] < o.Next {
		o.sink.differs("look whether a broker has lost its disk, or unclean.leader.election.enable is on",
			"the partition ends at offset %d, and records of committed transactions were acknowledged up to %d: they are gone", high[o.Partition], o.Next-1)
		return nil
	}
	const short = "readers of committed records get no further than offset %d, and the checkpoint has records up to %d; "
	if held.Denied != nil {
		o.sink.unknown("grant READ on the topic, if that is the reason", short+"the cluster does not tell what holds them: %v", end, o.Next-1, held.Denied)
		return nil
	}
	if len(held.Holds) == 0 {
		o.sink.unknown("run it again", short+"what holds them is gone by now", end, o.Next-1)
		return nil
	}
	switch h := held.Holds[0]; {
	case o.own[h.Producer] && h.First < o.Next:
		o.sink.differs(engine.RepairHelp, "records of a committed transaction cannot be read from offset %d on: its end marker is missing (%v), and %s %s behind it", h.First, h, words.Many(held.End-h.First, "offset"), words.Does(held.End-h.First, "waits", "wait"))
	default:
		o.sink.unknown("wait until it ends; `PROGRAM doctor` says whether it hangs", "an open transaction of somebody else (%v) holds readers of committed records back at offset %d, and the checkpoint has records up to %d", h, h.First, o.Next-1)
	}
	return nil
}

// start is a place at which comparing can begin.
type start struct {
	checkpoint int64
	checkpoint.Tally
}

// starts are the places of a partition, the oldest first: where its account begins, and the milestones.
func (a *auditor) starts(output int) []start {
	account := a.cp.Account
	o := account.Outputs[output]
	list := []start{{o.Since, checkpoint.Tally{Next: o.From}}}
	for _, m := range account.Milestones {
		if t, ok := m.Stored(output); ok && m.Checkpoint > o.Since && m.Checkpoint < a.cp.Number {
			list = append(list, start{m.Checkpoint, t})
		}
	}
	return list
}

// begin cuts what there is into parts, from the first place on behind which the topic has everything, and the account all producers.
func (o *output) begin(starts []start, forgotten, first, last int64) {
	o.lacks = -1
	if o.Since > 0 {
		o.lacks = o.Since - 1
	}
	var kept []start
	for _, s := range starts {
		switch {
		case s.Records == o.Records: // nothing was written behind it
			s.Next = max(s.Next, first)
			kept = append(kept, s)
		case s.Next < first || s.checkpoint < forgotten:
			o.lacks = s.checkpoint
		default:
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		o.sink.Since = last
		o.sink.unknown("a longer retention.ms of the topic leaves more to compare", "the topic begins at offset %d, behind the last place at which comparing can begin: %s %s written, the last at offset %d", first, words.Many(o.Records, "record"), words.Does(o.Records, "was", "were"), o.Next-1)
		return
	}
	for i, s := range kept {
		end := start{last, o.Tally}
		if i+1 < len(kept) {
			end = kept[i+1]
		}
		o.parts = append(o.parts, part{after: s.checkpoint, upTo: end.checkpoint, to: max(s.Next, end.Next),
			want: checkpoint.Tally{Next: s.Next, Records: end.Records - s.Records, Sum: end.Sum - s.Sum}})
	}
	o.sink.Since, o.sink.From, o.sink.Written = kept[0].checkpoint, kept[0].Next, o.Records-kept[0].Records
}

// alike makes all partitions begin at the checkpoint that was asked for. One to which nothing was written behind an earlier place can begin at any
// checkpoint behind that.
func (a *auditor) alike(outs []*output) {
	since := a.Settings.Since
	if a.Settings.SinceKept {
		for _, o := range outs {
			if len(o.parts) > 0 {
				since = max(since, o.parts[0].after)
			}
		}
	}
	for _, o := range outs {
		i := slices.IndexFunc(o.parts, func(p part) bool { return p.after >= since })
		if n := len(o.parts); i < 0 && n > 0 && o.parts[n-1].want.Records == 0 && since < a.cp.Number {
			i = n - 1
			o.parts[i].after = since
		}
		switch {
		case i >= 0:
			for _, p := range o.parts[:i] {
				o.sink.Written -= p.want.Records
			}
			o.parts = o.parts[i:]
			o.sink.Since, o.sink.From = o.parts[0].after, o.parts[0].want.Next
		case i < 0 && len(o.parts) > 0: // asked for the checkpoint itself, or a later one
			o.sink.unknown("name an earlier one", "%s", a.tooLate(since))
			o.parts = nil
		}
	}
}

// tooLate is why there is nothing to compare from a checkpoint on.
func (a *auditor) tooLate(since int64) string {
	if since > a.cp.Number {
		return fmt.Sprintf("there is no checkpoint %d yet: the newest that is known to be committed is %d", since, a.cp.Number)
	}
	return fmt.Sprintf("from checkpoint %d on none is remembered but the last, %d, and behind that there is nothing to compare", since, a.cp.Number)
}

// still says whether nothing was committed since the checkpoint, so that nothing of the pipeline may be behind it: the ends of the topics were asked before.
func (a *auditor) still() (bool, error) {
	if a.outrun() {
		return false, nil
	}
	now, err := a.look()
	if err != nil {
		return false, err
	}
	return a.cp == a.view.Newest && now.Newest.Number == a.cp.Number && now.Newest.Incarnation == a.cp.Incarnation, nil
}

// read counts what a reader of committed records gets.
func (a *auditor) read(ctx context.Context, outs []*output, idle bool) error {
	type at struct {
		topic string
		id    int32
	}
	byPlace := map[at]*output{}
	var stretches []kafka.Stretch
	all := int64(0)
	for _, o := range outs {
		if o.sink.Verdict != "" || len(o.parts) == 0 {
			continue
		}
		to := o.parts[len(o.parts)-1].to
		if idle {
			to = max(to, o.end)
		}
		o.sink.To = to
		byPlace[at{o.Topic, o.Partition}] = o
		stretches = append(stretches, kafka.Stretch{Topic: o.Topic, Partition: o.Partition, From: o.sink.From, To: to})
		all += to - o.sink.From
	}
	passed := int64(0)
	err := a.cluster.ReadCommitted(ctx, stretches, func(r kafka.Committed) { byPlace[at{r.Topic, r.Partition}].take(r) }, func(n int64) {
		if passed += n; a.Progress != nil {
			a.Progress(passed, all)
		}
	})
	var known *failure.Error
	if errors.As(err, &known) && known.Kind == failure.Lost {
		return failure.New(failure.Unproved, "run it again, with --since kept", err, "the topics have changed under the comparison")
	}
	return err
}

// take counts a record.
func (o *output) take(r kafka.Committed) {
	if !o.own[r.Producer] {
		if o.others == 0 {
			o.other = r
		}
		o.others++
		return
	}
	for o.at < len(o.parts) && r.Offset >= o.parts[o.at].to {
		o.at++
	}
	if o.at == len(o.parts) {
		if o.behind == 0 {
			o.behindFirst = r.Offset
		}
		o.behind++
		return
	}
	got := &o.parts[o.at].got
	got.Records++
	got.Sum += checkpoint.HashOffset(r.Offset)
}

// judge says what came of a partition.
func (a *auditor) judge(o *output, idle bool) {
	s := &o.sink
	s.Others, s.Behind = o.others, o.behind
	missing, surplus, unlike := int64(0), int64(0), ""
	for _, p := range o.parts {
		s.Found += p.got.Records
		missing += max(0, p.want.Records-p.got.Records)
		surplus += max(0, p.got.Records-p.want.Records)
		if unlike == "" && (p.want.Records != p.got.Records || p.want.Sum != p.got.Sum && o.Untold == 0) {
			unlike = fmt.Sprintf("between checkpoints %d and %d (offsets %d to %d) %s %s written and %d %s there", p.after, p.upTo, p.want.Next, p.to-1,
				words.Many(p.want.Records, "record"), words.Does(p.want.Records, "was", "were"), p.got.Records, words.Does(p.got.Records, "is", "are"))
		}
	}
	switch {
	case o.Fell > 0:
		s.differs("look whether a broker has lost its disk, or unclean.leader.election.enable is on", "records of checkpoint %d got lower offsets than records before: the partition was cut back, and what stood there is gone", o.Fell)
	case surplus > 0:
		s.differs("another copy of the pipeline has written them, or an aborted transaction is visible: consumers get them twice", "%s: %d too many", unlike, surplus)
	case o.behind > 0:
		s.differs("another copy of the pipeline has written them, or they are of a transaction that the state does not know", "%s of the pipeline's own producers %s behind its last checkpoint, the first at offset %d", words.Many(o.behind, "committed record"), words.Does(o.behind, "stands", "stand"), o.behindFirst)
	case o.others > 0 && !o.mixed && !a.Settings.Shared:
		s.differs("if others may write there say --shared; else find them: a second pipeline with this sink doubles its results", "%s of other producers, the first at offset %d (producer id %s)", words.Many(o.others, "record"), o.other.Offset, producerName(o.other.Producer))
		if missing > 0 {
			s.Text += fmt.Sprintf("; and %d of the pipeline's records %s missing: %s", missing, words.Does(missing, "is", "are"), unlike)
		}
	case missing > 0 && o.compacted:
		s.unknown("a topic with cleanup.policy=delete can be compared", "%d of %s %s not there, and the topic is compacted, or does not show whether it is: a later record of the same key may have replaced them", missing, words.Many(s.Written, "record"), words.Does(missing, "is", "are"))
	case missing > 0:
		s.differs("the brokers have lost records of committed transactions: look at their logs", "%s: %d %s missing", unlike, missing, words.Does(missing, "is", "are"))
	case unlike != "":
		s.differs("look at the brokers' logs", "there are as many records as were written, but not those: %s at other offsets", unlike)
	case o.Untold > 0:
		s.unknown("", "there are as many records as were written, %d, but brokers have not said at which offsets they put %d of them", s.Written, o.Untold)
	case o.lacks >= a.Settings.Since && !a.Settings.SinceKept:
		a.later(o)
	default:
		s.Verdict, s.Text = Holds, s.whole("")
	}
	if s.Verdict != Differs && o.others > 0 {
		s.Text += fmt.Sprintf("; besides %d of other producers", o.others)
	}
	if !idle && s.Verdict == Holds {
		s.Text += fmt.Sprintf(" up to checkpoint %d", a.cp.Number)
	}
}

func producerName(id int64) string {
	if id < 0 {
		return "none"
	}
	return fmt.Sprint(id)
}

// whole says that everything is there that was written since then.
func (s *Sink) whole(since string) string {
	if s.Written == 1 {
		return "the only record" + since + " is there"
	}
	return fmt.Sprintf("all %d records%s are there", s.Written, since)
}

// later says that what is there holds, but is not all.
func (a *auditor) later(o *output) {
	s := &o.sink
	before := o.Records - s.Written
	why := "the topic does not keep what was written before"
	switch {
	case s.Since == o.Since:
		why = "what was written before is not in the account, which was begun then"
	case o.lacks < a.cp.Account.Forgotten:
		why = "the topic does not keep what was written before, or its producers are not remembered"
	}
	s.unknown("--since kept compares what there is, and no more", "%s; %s (%s)", s.whole(fmt.Sprintf(" since checkpoint %d", s.Since)), why, words.Many(before, "record"))
}
