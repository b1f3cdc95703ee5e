package txn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/inspect"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// Report is what list answers. Its JSON names do not change; new ones may come. Times are RFC 3339 in UTC.
type Report struct {
	Pipeline  string `json:"pipeline"`
	Cluster   string `json:"cluster"`
	Group     string `json:"group"`               // consumer group of the markers
	Directory string `json:"directory,omitempty"` // of the state
	Use       string `json:"use,omitempty"`       // free, in use, unknown

	IDs         []ID                 `json:"transactional_ids"`
	Checkpoint  *inspect.Checkpoint  `json:"checkpoint"`            // the newest that is stored; null: there is none
	Transaction *inspect.Transaction `json:"transaction,omitempty"` // of it
	Marker      *Marker              `json:"marker"`                // that readers see; null: there is none, or it cannot be read
	Pending     bool                 `json:"pending"`               // an open transaction of the pipeline writes another marker
	Unreadable  string               `json:"unreadable,omitempty"`  // why the marker cannot be read
	Held        []Held               `json:"held"`
	Blind       []string             `json:"blind,omitempty"`  // what the cluster does not tell
	Traces      string               `json:"traces,omitempty"` // what the logs of the sinks hold of the transaction, while the checkpoint is not confirmed

	Conclusion string `json:"conclusion"`
	Next       string `json:"next"` // what to do; "": nothing
}

// ID is a transactional id as its coordinator knows it.
type ID struct {
	ID             string     `json:"transactional_id"`
	State          string     `json:"state"` // as Kafka has them; "": unknown to the cluster
	ProducerID     int64      `json:"producer_id"`
	ProducerEpoch  int16      `json:"producer_epoch"`
	Since          *time.Time `json:"since,omitempty"` // when the open transaction began
	TimeoutSeconds float64    `json:"timeout_seconds"`
	Partitions     []string   `json:"partitions"` // of the open transaction, as topic/partition
	About          string     `json:"about,omitempty"`
}

// Marker is what is committed to the consumer group.
type Marker struct {
	Checkpoint  int64  `json:"checkpoint"`
	Incarnation string `json:"incarnation"`
	Records     int64  `json:"records"`
	Producer    string `json:"producer"` // id/epoch
}

// Held is a transaction of the pipeline that holds readers of committed records back.
type Held struct {
	Topic           string     `json:"topic"`
	Partition       int32      `json:"partition"`
	First           int64      `json:"first"`   // offset of its first record there
	Offsets         int64      `json:"offsets"` // that readers do not see
	ProducerID      int64      `json:"producer_id"`
	ProducerEpoch   int16      `json:"producer_epoch"`
	TransactionalID string     `json:"transactional_id,omitempty"`
	Fate            string     `json:"fate"` // open, committed, aborted, unknown: the last three have lost their end marker
	Why             string     `json:"why"`
	After           *time.Time `json:"written_after,omitempty"` // by the clock, as far as the state knows
	Last            *time.Time `json:"last_record,omitempty"`   // Kafka timestamp of the producer's last record there: its event time
}

// list writes the report.
func list(ctx context.Context, cfg Config) error {
	cluster, err := cfg.open(ctx, 0)
	if err != nil {
		return err
	}
	defer cluster.Close()
	s, err := see(ctx, &cfg, cluster)
	if err != nil {
		return err
	}
	if s.place.Use != state.InUse {
		if err := s.trace(ctx); err != nil {
			return err
		}
	}
	r, err := s.report(ctx)
	if err != nil {
		return err
	}
	if cfg.Settings.JSON {
		e := json.NewEncoder(cfg.Out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	return r.text(cfg.Out)
}

func (s *sight) report(ctx context.Context) (*Report, error) {
	id, err := s.cluster.ID(ctx)
	if err != nil {
		return nil, err
	}
	r := &Report{Pipeline: s.Spec.Name, Cluster: id, Group: s.setup.Group, Pending: s.pending, IDs: []ID{}, Held: []Held{}}
	if !s.Spec.Memory {
		r.Directory, r.Use = s.place.Dir, s.place.Use.String()
	}
	for _, id := range s.ids {
		r.IDs = append(r.IDs, s.id(id))
	}
	if n := s.setup.Newest; n != nil {
		r.Checkpoint = &inspect.Checkpoint{Number: n.Number, Confirmed: s.setup.Confirmed, Incarnation: n.Incarnation.String(), Group: n.Group, ExactlyOnce: n.Exactly, Ended: n.Ended}
		if t := n.Committable; t.TransactionalID != "" {
			r.Transaction = &inspect.Transaction{Cluster: t.ClusterID, TransactionalID: t.TransactionalID, ProducerID: t.ProducerID, ProducerEpoch: t.Epoch, Records: t.Records}
		}
	}
	if m := s.marker; m != nil {
		r.Marker = &Marker{m.Checkpoint, m.Incarnation.String(), m.Records, m.Producer}
	}
	if s.unread != nil {
		r.Unreadable = s.unread.Error()
	}
	for _, h := range s.held {
		x := Held{Topic: h.Topic, Partition: h.Partition, First: h.First, Offsets: h.offsets, ProducerID: h.Producer, ProducerEpoch: h.Epoch, Fate: string(h.fate), Why: h.why}
		if h.Owner != nil {
			x.TransactionalID = h.Owner.ID
		}
		x.After, x.Last = known(h.After), known(h.Last)
		r.Held = append(r.Held, x)
	}
	for _, err := range s.blind {
		if text := err.Error(); !slices.Contains(r.Blind, text) {
			r.Blind = append(r.Blind, text)
		}
	}
	if s.traced {
		r.Traces = s.tracesText()
	}
	r.Conclusion, r.Next = s.conclude(ctx)
	return r, nil
}

// known is a time for a report; nil: it is not known.
func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

// id is a transactional id, and what its transaction is to the state.
func (s *sight) id(id string) ID {
	t := s.known[id]
	x := ID{ID: id, State: t.State, ProducerID: t.Producer, ProducerEpoch: t.Epoch, TimeoutSeconds: t.Timeout.Seconds(), Partitions: slices.Clone(t.Partitions)}
	if x.Partitions == nil {
		x.Partitions = []string{}
	}
	if !t.Since.IsZero() {
		since := t.Since.UTC()
		x.Since = &since
	}
	n := s.setup.Newest
	switch {
	case n == nil || n.Committable.TransactionalID != id || t.State == "":
	case t.State == "Ongoing" && t.Producer == n.Committable.ProducerID && t.Epoch == n.Committable.Epoch:
		x.About = fmt.Sprintf("the transaction of checkpoint %d, prepared: it can be committed", n.Number)
	case engine.TxnState{State: t.State, ProducerID: t.Producer, Epoch: t.Epoch}.Fate(n.Committable) == checkpoint.ItIsCommitted:
		x.About = fmt.Sprintf("the transaction of checkpoint %d, committed", n.Number)
	case engine.TxnState{State: t.State, ProducerID: t.Producer, Epoch: t.Epoch}.Fate(n.Committable) == checkpoint.ItIsAborted:
		x.About = fmt.Sprintf("the transaction of checkpoint %d, aborted", n.Number)
	}
	return x
}

// conclude says what all that means, and what to do.
func (s *sight) conclude(ctx context.Context) (conclusion, next string) {
	lost := s.lost()
	certain := slices.ContainsFunc(lost, func(h held) bool { return h.fate != unknown })
	running := s.place.Use == state.InUse
	switch {
	case certain:
		return fmt.Sprintf("a broker has lost the end markers of transactions (KAFKA-20734): %s wait for them, and readers of committed records see nothing behind", partitions(lost)), "txn repair"
	case len(lost) > 0:
		return fmt.Sprintf("a broker has lost the end markers of transactions (KAFKA-20734): %s wait for them; whether these were committed is not known any more", partitions(lost)),
			s.unknownHelp(lost)
	case failure.KindOf(s.unread) == failure.Cluster && s.unread != nil:
		return "the marker cannot be read: " + s.unread.Error(), "grant READ on topic __consumer_offsets to who runs this, or have an administrator run txn repair"
	case len(s.ids) == 0:
		return "no sink is exactly_once: there are no transactions", ""
	case running:
		return fmt.Sprintf("the pipeline runs as process %d and looks after its transactions", s.place.User), ""
	case s.Spec.Memory || s.setup.Newest == nil:
		if s.marker != nil {
			return fmt.Sprintf("there is no state here, but checkpoint %d is committed", s.marker.Checkpoint), "start with the state directory that belongs to it"
		}
		return "there is no state here, and nothing is committed", "start the program"
	}
	out, err := s.foresee(ctx, checkpoint.NoDecision)
	switch {
	case err != nil:
		return "what a start would do cannot be told: " + err.Error(), "doctor says what is missing"
	case out.Refused == nil:
		return s.idle(out)
	case failure.KindOf(out.Refused) == failure.Unknown && !s.setup.Confirmed:
		next := map[checkpoint.Decision]string{
			checkpoint.ItIsCommitted: "txn commit, since the logs of the sinks say so",
			checkpoint.ItIsAborted:   "txn abort, since the logs of the sinks say so",
			checkpoint.NoDecision:    "txn commit or txn abort",
		}[s.told()]
		return "a start is refused: " + out.Refused.Error(), next
	}
	return "a start is refused: " + out.Refused.Error(), "as it says"
}

// idle is what to say when nobody has to do anything but start the program.
func (s *sight) idle(out engine.Outlook) (conclusion, next string) {
	switch n := s.setup.Newest; {
	case !s.setup.Confirmed:
		return "a start decides it by itself: " + out.Would, "start the program"
	case n.Ended:
		return fmt.Sprintf("there is nothing to decide: checkpoint %d is confirmed, and the bounded run has finished", n.Number), ""
	default:
		return fmt.Sprintf("there is nothing to decide: checkpoint %d is confirmed; at a start %s", n.Number, out.Would), "start the program"
	}
}

func partitions(all []held) string {
	var out []string
	for _, h := range all {
		if text := fmt.Sprintf("%s/%d", h.Topic, h.Partition); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// foresee is what a start would do, with a decision or without.
func (s *sight) foresee(ctx context.Context, said checkpoint.Decision) (engine.Outlook, error) {
	e := s.engine()
	e.Options.Decision = said
	clusters := engine.Clusters{s.cluster.Beside(s.ids)}
	for n := 1; n < s.Spec.Connections(); n++ {
		c, err := s.open(ctx, n)
		if err != nil {
			return engine.Outlook{}, err
		}
		defer c.Close()
		clusters = append(clusters, c)
	}
	return e.Foresee(ctx, clusters, engine.Stored{Newest: s.setup.Newest, Before: s.setup.Before, Confirmed: s.setup.Confirmed})
}
