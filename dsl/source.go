package dsl

import (
	"slices"
	"time"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// Defaults and limits of sources. The default of skew is how far ahead of their clock
// brokers let a record's timestamp be (log.message.timestamp.after.max.ms, KIP-937).
const (
	defaultIdle = 30 * time.Second
	defaultSkew = time.Hour
	longest     = 3650 * 24 * time.Hour // of any time span; beyond it is a typing error
)

var sourceOptions = wordsOf("format time watermark idle skew start isolation on_error on_null "+connectionWords, "key_format")

func (c *checker) eachSource() {
	for _, d := range c.file.Decls {
		if d, ok := d.(*syntax.Source); ok {
			if s := c.sources[d.Name.String()]; s != nil && s.decl == d {
				c.source(s)
			}
		}
	}
}

func (c *checker) source(s *sourceInfo) {
	d := s.decl
	out := &Source{Name: d.Name.String(), Place: c.head(d.Node), TypeName: d.Type.String(), Idle: defaultIdle, Skew: defaultSkew}
	s.out, s.row.open = out, true
	c.prog.Sources = append(c.prog.Sources, out)
	if t := c.types[out.TypeName]; t != nil {
		out.TypePlace, out.Row, s.row = c.head(t.decl.Node), t.row.row, t.row
	} else if c.others[out.TypeName] == "" {
		c.report(diag.New("unknown-type", c.at(d.Type.Node), "`%s` is not a type", d.Type).
			DidYouMean(out.TypeName, sortedKeys(c.types)))
	}
	out.Topic, _ = c.topic(d.From)
	given := c.options("a source", d.Options, sourceOptions)
	if o := given["format"]; o != nil {
		c.format(o)
		out.Format = c.place(o.Node)
	}
	if o := given["time"]; o != nil {
		out.TimePlace = c.place(o.Node)
		out.Time = c.eventTime(s, o.Values[0])
	}
	if o := given["watermark"]; o != nil {
		out.WatermarkPlace, out.HasWatermark = c.place(o.Node), true
		out.Watermark, _ = c.durationOption(o, 0, longest)
	}
	if o := given["idle"]; o != nil {
		out.Idle = c.lengthOrNever(o, out.Idle)
	}
	if o := given["skew"]; o != nil {
		out.Skew = c.lengthOrNever(o, out.Skew)
	}
	if o := given["start"]; o != nil {
		c.start(out, o)
	}
	if o := given["isolation"]; o != nil {
		out.ReadUncommitted = c.plainWord(o, "read_committed", "read_uncommitted") == "read_uncommitted"
	}
	if o := given["on_null"]; o != nil {
		out.FailOnNull = c.plainWord(o, "skip", "fail") == "fail"
	}
	out.Connection = c.connection(given)
	out.OnError.Place = out.Place
	if o := given["on_error"]; o != nil {
		c.onError(&out.OnError, o)
	}
}

// format of a source or sink.
func (c *checker) format(o *syntax.Option) {
	e := o.Values[0]
	if call, ok := e.(*syntax.Call); ok {
		e = call.Fun
	}
	if ref, ok := e.(*syntax.Ref); ok && slices.Contains([]string{"csv", "raw", "avro", "protobuf"}, ref.Name) {
		c.notYet(o.Node, "the format `"+ref.Name+"`")
		return
	}
	c.plainWord(o, "json")
}

// eventTime types `time e`.
func (c *checker) eventTime(s *sourceInfo, e syntax.Expr) ir.Expr {
	sc := scope{c: c, row: s.row.row, open: s.row.open, of: s.out.TypeName}
	o := sc.check(e)
	if o.bad() {
		return nil
	}
	if o.typ().Kind != ir.Timestamp {
		d := diag.New("type-mismatch", c.at(o.node), "the time of a record is a timestamp, this is %s", o)
		text := c.file.Line(o.node)
		_, isField := e.(*syntax.Ref)
		switch kind := o.typ().Kind; {
		case kind == ir.Int && isField:
			d = d.WithHelp("numbers are read as times by the field's type: `%s: timestamp(ms)`, or `s`, `us`, `ns`", text)
		case kind == ir.String && isField:
			d = d.WithHelp("RFC 3339 text is read by the field's type, `%s: timestamp`, or by a cast, `time timestamp(%s)`", text, text)
		case kind == ir.String:
			d = d.WithHelp("RFC 3339 text is read by a cast: `time timestamp(%s)`", text)
		default:
			d = d.WithHelp("without `time` it is the Kafka timestamp")
		}
		c.report(d)
		return nil
	}
	return c.nonNull(o).x
}

// lengthOrNever is a duration above 0, or never, which is 0.
func (c *checker) lengthOrNever(o *syntax.Option, otherwise time.Duration) time.Duration {
	if ref, ok := o.Values[0].(*syntax.Ref); ok {
		if ref.Name != "never" {
			c.badOption(o, "a duration such as 30s, or never")
		}
		return 0
	}
	if l, ok := o.Values[0].(*syntax.Literal); ok && l.Kind == "bool" {
		c.badOption(o, "a duration such as 30s, or never")
		return otherwise
	}
	if d, ok := c.durationOption(o, time.Millisecond, longest); ok {
		return d
	}
	return otherwise
}

func (c *checker) start(out *Source, o *syntax.Option) {
	word, call := c.wordOption(o, "earliest", "latest", `timestamp("2026-01-31T00:00:00Z")`, `group("name")`)
	switch word {
	case "earliest", "latest":
		if call != nil {
			c.errorf(call.Node, "bad-option", "`%s` has nothing in brackets", word)
		}
		if word == "latest" {
			out.Start = Latest
		}
	case "timestamp":
		out.Start = AtTimestamp
		text, ok := c.settingArg(o, call, `timestamp("2026-01-31T00:00:00Z")`)
		switch {
		case ok && text.Env != "":
			c.notYet(call.Node, "a start time from the environment")
		case ok:
			out.StartTime, _ = c.parseTime(call.Args[0].Node, text.Text)
		}
	case "group":
		out.Start = AtGroup
		out.StartGroup, _ = c.settingArg(o, call, `group("name")`)
		if g := out.StartGroup; call != nil && g.Text == "" && (g.Env == "" || g.HasDefault) && len(call.Args) == 1 {
			c.badOption(o, "a text that is not empty")
		}
	}
}

func (c *checker) onError(out *OnError, o *syntax.Option) {
	out.Place = c.place(o.Node)
	word, call := c.wordOption(o, "fail", "skip", `dlq("topic")`)
	switch word {
	case "fail", "skip":
		if call != nil {
			c.errorf(call.Node, "bad-option", "`%s` has nothing in brackets", word)
		}
		if word == "skip" {
			out.Mode = Skip
		}
	case "dlq":
		out.Mode = DeadLetter
		topic, ok := c.settingArg(o, call, `dlq("topic")`)
		if ok {
			c.topicName(call.Args[0].Node, topic)
		}
		out.Topic = topic
	}
}
