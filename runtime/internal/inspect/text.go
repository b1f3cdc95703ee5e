package inspect

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// text is the report for people.
func (r *Report) text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	p := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) } // Flush returns the error
	p("directory\t%s%s", state.Where(r.Directory), r.use())
	p("file\t%s, of which %s hold state, written %s", Size(r.Bytes), Size(r.LiveBytes), r.Written.Format(time.RFC3339))
	if r.Checkpoint == nil {
		p("checkpoint\tnone was ever stored")
		return w.Flush()
	}
	c := r.Checkpoint
	p("pipeline\t%s", r.Pipeline)
	p("incarnation\t%s", c.Incarnation)
	p("checkpoint\t%d, %s", c.Number, c.state())
	if t := r.Transaction; t != nil {
		p("transaction\t%s, producer %d, epoch %d, %s, cluster %s", t.TransactionalID, t.ProducerID, t.ProducerEpoch, words.Many(t.Records, "record"), t.Cluster)
	}
	p("group\t%s", c.Group)
	switch {
	case !r.Fits:
		p("this program\tcannot go on from it: %s", r.Difference)
	case c.Ended:
		p("this program\tis that of the state, and has nothing to go on with: the run has ended for good")
	default:
		p("this program\tcan go on from it")
	}
	r.tables(p)
	return w.Flush()
}

func (r *Report) tables(p func(string, ...any)) {
	p("\nSOURCE\tPARTITION\tNEXT\tWATERMARK")
	for _, x := range r.Partitions {
		note := ""
		if !x.Active {
			note = "\tidle"
		}
		if x.Bound != nil {
			note += fmt.Sprintf("\tends at %d", *x.Bound)
		}
		if x.Cluster != "" {
			note += "\tin cluster " + x.Cluster
		}
		p("%s\t%s/%d\t%d\t%s%s", x.Source, x.Topic, x.Partition, x.Next, or(x.Watermark), note)
	}
	if len(r.Watermarks) > 0 {
		p("\nOPERATOR\tWATERMARK\tSTATE\tSEGMENTS\tDELTAS")
	}
	for _, x := range r.Watermarks {
		var o Operator
		for _, stored := range r.Operators {
			if stored.Operator == x.Operator {
				o = stored
			}
		}
		p("%s\t%s\t%s\t%d of %s, %s\t%d, %s", x.Operator, or(x.Watermark), Size(o.Bytes), o.Segments, words.Many(o.Groups, "key group"), Size(o.SegmentBytes), o.Deltas, Size(o.DeltaBytes))
	}
	p("\nCOUNT\tOPERATOR\tPARTITION\tRECORDS")
	for _, x := range r.Counts {
		p("%s\t%s\t%s/%d\t%d", x.Name, x.Operator, x.Topic, x.Partition, x.Count)
	}
	p("\nFORM OF\tPLACE\tMADE FOR")
	for _, x := range r.Forms {
		p("%s\t%s\t%s", x.ID, x.Place, x.Form)
	}
}

func (r *Report) use() string {
	if r.Process != 0 {
		return fmt.Sprintf(", in use by process %d", r.Process)
	}
	if r.Use == "unknown" {
		return ", the system does not tell whether a process uses it"
	}
	return ", " + r.Use
}

func (c *Checkpoint) state() string {
	switch {
	case c.Confirmed && c.Ended:
		return "confirmed; the bounded run has finished"
	case c.Confirmed:
		return "confirmed"
	}
	return "not confirmed: the next start finds out whether its transaction is committed"
}

func or(t *Time) string {
	if t == nil {
		return "none yet"
	}
	return t.String()
}

// Size is a number of bytes for people, in units of 1024.
func Size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	x, i := float64(n)/unit, 0
	for ; x >= unit && i < 4; i++ {
		x /= unit
	}
	return fmt.Sprintf("%.1f %ciB", x, "KMGTP"[i])
}
