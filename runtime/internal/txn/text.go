package txn

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// text is the report for people.
func (r *Report) text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	p := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) } // Flush returns the error
	p("pipeline\t%s, in cluster %s", r.Pipeline, r.Cluster)
	switch {
	case r.Checkpoint == nil && r.Directory == "":
		p("state\tkept in memory")
	case r.Checkpoint == nil:
		p("state\tnone in %s", r.Directory)
	case r.Checkpoint.Confirmed:
		p("state\tcheckpoint %d, confirmed, in %s (%s)", r.Checkpoint.Number, r.Directory, r.Use)
	default:
		p("state\tcheckpoint %d, not confirmed, in %s (%s)", r.Checkpoint.Number, r.Directory, r.Use)
	}
	if t := r.Transaction; t != nil {
		p("its transaction\t%s, producer %d, epoch %d, %s", t.TransactionalID, t.ProducerID, t.ProducerEpoch, words.Many(t.Records, "record"))
	}
	marker := "none"
	if m := r.Marker; m != nil {
		marker = fmt.Sprintf("checkpoint %d, %s, producer %s, incarnation %s", m.Checkpoint, words.Many(m.Records, "record"), m.Producer, m.Incarnation)
	}
	if r.Pending {
		marker += "; an open transaction writes the next one"
	}
	if r.Unreadable != "" {
		marker = "cannot be read: " + r.Unreadable
	}
	p("marker\t%s, in group %s", marker, r.Group)
	if r.Traces != "" {
		p("logs of sinks\t%s", r.Traces)
	}
	r.tables(p)
	p("\n%s", r.Conclusion)
	if r.Next != "" {
		p("next: %s", r.Next)
	}
	return w.Flush()
}

func (r *Report) tables(p func(string, ...any)) {
	if len(r.IDs) > 0 {
		p("\nTRANSACTIONAL ID\tSTATE\tPRODUCER\tEPOCH\tOPEN SINCE\tABOUT")
	}
	for _, x := range r.IDs {
		if x.State == "" {
			p("%s\tunknown to the cluster", x.ID)
			continue
		}
		since, about := "", x.About
		if x.Since != nil {
			since = x.Since.Format(time.RFC3339)
			about = strings.TrimPrefix(fmt.Sprintf("%s; aborted after %vs; %s", about, x.TimeoutSeconds, strings.Join(x.Partitions, " ")), "; ")
		}
		p("%s\t%s\t%d\t%d\t%s\t%s", x.ID, x.State, x.ProducerID, x.ProducerEpoch, since, about)
	}
	if len(r.Held) > 0 {
		p("\nHELD BACK\tFROM\tOFFSETS\tPRODUCER\tEPOCH\tWRITTEN AFTER\tTRANSACTION")
	}
	for _, x := range r.Held {
		after := ""
		if x.After != nil {
			after = x.After.Format(time.RFC3339)
		}
		p("%s/%d\t%d\t%d\t%d\t%d\t%s\t%s: %s", x.Topic, x.Partition, x.First, x.Offsets, x.ProducerID, x.ProducerEpoch, after, x.Fate, x.Why)
	}
	for _, x := range r.Blind {
		p("\nnot known: %s", x)
	}
}
