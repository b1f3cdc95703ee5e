package dsl

import (
	"time"

	"github.com/eoc-lang/eoc/internal/ir"
)

// Program is a pipeline that has been checked: every name is resolved, every
// expression typed, every default filled in. It is what the planner gets.
type Program struct {
	File    string // base name of the .eo file
	Path    string // as the user knows it: it stands in diagnostics
	Job     Job
	Sources []*Source // as declared
	Streams []*Stream // each behind the streams that it reads, else as declared
	Sinks   []*Sink   // declared ones as declared, then those in place in the order of the text
}

// Setting is a string option: a text, or env("X") or env("X", "default").
type Setting struct {
	Text       string // the text, or the default of Env
	Env        string // name of an environment variable, or ""
	HasDefault bool   // of Env
}

// Job is how the pipeline runs.
type Job struct {
	Name        string // the job's name, else the file's without .eo; [a-z0-9._-]+
	Place       ir.Place
	Checkpoint  time.Duration // default 1 s
	Memory      bool          // store memory instead of bolt
	StateDir    Setting       // of store bolt; default ./state
	Parallelism int           // default 1
	TxnPrefix   Setting       // default Name
	TxnTimeout  time.Duration // default 2 min
	// Restart after a fault of network or broker: pauses from RestartMin up to RestartMax, for ever.
	RestartMin, RestartMax time.Duration // default 1 s, 1 min
	Connection             Connection    // of the cluster of all sinks, and of the sources that have none of their own
}

// OnError is what becomes of bad records.
type OnError struct {
	Mode  OnErrorMode
	Topic Setting // of DeadLetter
	Place ir.Place
}

// OnErrorMode is fail, skip or dlq.
type OnErrorMode uint8

const (
	Fail OnErrorMode = iota
	Skip
	DeadLetter
)

// StartAt is where a source begins at the first start.
type StartAt uint8

const (
	Earliest StartAt = iota
	Latest
	AtTimestamp // Source.StartTime
	AtGroup     // the committed offsets of Source.StartGroup
)

// Source is a topic that is read.
type Source struct {
	Name      string
	Place     ir.Place
	Topic     Setting
	TypeName  string
	TypePlace ir.Place
	Row       ir.Row // all declared fields, in order

	Format ir.Place // `format json`; the zero Place if it is not written
	// Time is the event time over Row, nil for the Kafka timestamp.
	Time      ir.Expr
	TimePlace ir.Place

	HasWatermark   bool // without it no window can read the source
	Watermark      time.Duration
	WatermarkPlace ir.Place
	Idle           time.Duration // default 30 s; 0: never
	Skew           time.Duration // default 1 h; 0: never

	Connection      Connection // of its own; the zero Connection: that of the job
	Start           StartAt
	StartTime       time.Time
	StartGroup      Setting
	ReadUncommitted bool
	OnError         OnError
	FailOnNull      bool // on_null fail; default skip, counted
}

// Sink is a topic that is written.
type Sink struct {
	Name    string // a sink in place is named after its topic
	Place   ir.Place
	Topic   Setting
	Row     ir.Row // of the rows it gets, equal for all that feed it
	Key     []ir.Named
	KeyAt   ir.Place
	Deliver Delivery
}

// Delivery is the guarantee of a sink.
type Delivery uint8

const (
	ExactlyOnce Delivery = iota
	AtLeastOnce
	None
)

// Stream is a chain of clauses. Each clause takes the rows as the one above left them.
type Stream struct {
	Name    string
	Was     string // `was old_name`, or ""
	Place   ir.Place
	From    From
	Clauses []Clause // where, let, select, window, aggregate, and again, last `to`
	Row     ir.Row   // as it leaves the last clause
	// Windowed says that the stream aggregates: its rows are results.
	Windowed bool
}

// From is `from a, b`. Row is what the streams and sources have in common: equal names
// and types, in the order of the first.
type From struct {
	Place  ir.Place
	Inputs []Input
	Row    ir.Row
}

// Input is a *Source or a *Stream that a stream reads.
type Input struct {
	Source *Source
	Stream *Stream
	Place  ir.Place
}

// Clause is a *Where, *Let, *Select, *Window, *Aggregate or *To. Columns in its
// expressions are indexes into the row that it takes.
type Clause interface {
	At() ir.Place
	// Out is the row that the clause passes on.
	Out() ir.Row
}

// Where keeps the rows for which Cond holds. In Row fields proved not to be null are Known.
type Where struct {
	Place ir.Place
	Cond  ir.Expr
	Row   ir.Row
}

// Let appends fields. An item may use those before it: its columns are indexes into Row.
type Let struct {
	Place ir.Place
	Items []ir.Named
	Row   ir.Row
}

// Select makes a new row.
type Select struct {
	Place ir.Place
	Items []ir.Named
	Row   ir.Row
}

// Window is a tumbling window; an Aggregate follows it directly. A window [start, end) has
// start = Offset + n × Size.
type Window struct {
	Place  ir.Place
	Size   time.Duration
	Offset time.Duration
	Grace  time.Duration
	By     []ir.Named // no float among them; may be empty: one group
	// Late is where rows go that come too late, as they reached the clause; nil: they are only counted.
	Late      *Sink
	LatePlace ir.Place
	Row       ir.Row // the row that it takes
}

// Aggregate yields the By keys, window_start, window_end, then its items.
type Aggregate struct {
	Place ir.Place
	Items []ir.Aggregate // their columns are indexes into the row that Window takes
	Row   ir.Row
}

// To sends rows to sinks: to each whose If holds or that has none; to those with Else if no If held.
type To struct {
	Place  ir.Place
	Routes []Route
	Row    ir.Row
}

// Route is one sink of a To.
type Route struct {
	Sink  *Sink
	If    ir.Expr
	Else  bool
	Place ir.Place
}

func (c *Where) At() ir.Place     { return c.Place }
func (c *Let) At() ir.Place       { return c.Place }
func (c *Select) At() ir.Place    { return c.Place }
func (c *Window) At() ir.Place    { return c.Place }
func (c *Aggregate) At() ir.Place { return c.Place }
func (c *To) At() ir.Place        { return c.Place }

func (c *Where) Out() ir.Row     { return c.Row }
func (c *Let) Out() ir.Row       { return c.Row }
func (c *Select) Out() ir.Row    { return c.Row }
func (c *Window) Out() ir.Row    { return c.Row }
func (c *Aggregate) Out() ir.Row { return c.Row }
func (c *To) Out() ir.Row        { return c.Row }
