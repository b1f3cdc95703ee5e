package planner

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/eoc-lang/eoc/internal/ir"
)

// PlanJSON is the shape of what WriteJSON writes. Members are only ever added.
type PlanJSON struct {
	File     string `json:"file"` // base name of the .eo file
	Pipeline string `json:"pipeline"`
	// Connection is how the cluster is reached, as far as the text says it.
	Connection *ConnectionJSON `json:"connection,omitempty"`
	Operators  []OperatorJSON  `json:"operators"` // each behind those that feed it
}

// ConnectionJSON is how the Kafka cluster is reached. Secrets are named, never shown.
type ConnectionJSON struct {
	Brokers *BrokersJSON `json:"brokers,omitempty"`
	TLS     string       `json:"tls,omitempty"`    // on, off, or the kinds of files: files(ca, cert, key)
	SASL    string       `json:"sasl,omitempty"`   // plain, scram256, scram512 or oauthbearer
	Secret  string       `json:"secret,omitempty"` // the variable of its password or token
}

// BrokersJSON are the brokers to ask first, in the text or from an environment variable.
type BrokersJSON struct {
	List string `json:"list"`          // host:port, several with commas between; the default, if Env is set
	Env  string `json:"env,omitempty"` // name of the variable
}

// OperatorJSON is one operator.
type OperatorJSON struct {
	ID     string   `json:"id"`
	Kind   string   `json:"kind"`   // see Node.Kind
	Stream string   `json:"stream"` // "" for sources, sinks and dead-letter topics
	Line   int      `json:"line"`
	Column int      `json:"column"`
	Text   []string `json:"text"` // its clauses; two of a window
	Chain  int      `json:"chain"`
	// Row is what it passes on; of a sink, what it gets; empty for a dead-letter topic.
	Row   []FieldJSON `json:"row"`
	Used  []string    `json:"used,omitempty"`  // of a source: the fields that it decodes
	Keys  []FieldJSON `json:"keys,omitempty"`  // of an exchange, window or sink
	Topic *TopicJSON  `json:"topic,omitempty"` // of a source, sink or dead-letter topic
	// Connection is how the cluster of a source is reached, if that is not as the pipeline's.
	Connection *ConnectionJSON `json:"connection,omitempty"`
	// OnError and OnNull are what a source does with a record at fault, and with one without a value, as the language says it.
	OnError string `json:"on_error,omitempty"` // fail, skip or dlq("topic")
	OnNull  string `json:"on_null,omitempty"`  // fail or skip
	// Time is about the event time of a source and the windows, durations in the form of the language: 1m30s.
	Time  *TimeJSON  `json:"time,omitempty"`
	State string     `json:"state,omitempty"` // what its part of a checkpoint depends on
	In    []string   `json:"in"`              // ids of those that feed it
	Out   []EdgeJSON `json:"out"`
}

// FieldJSON is a field of a row.
type FieldJSON struct {
	Name string `json:"name"`
	Type string `json:"type"` // as in the language: decimal(12, 2)?
}

// TopicJSON is a topic, by name or from an environment variable.
type TopicJSON struct {
	Name    string `json:"name"`              // the default, if Env is set
	Env     string `json:"env,omitempty"`     // name of the variable
	Deliver string `json:"deliver,omitempty"` // of what is written: exactly_once, at_least_once or none
}

// TimeJSON is about event time.
type TimeJSON struct {
	Watermark string   `json:"watermark,omitempty"` // of a source: its disorder
	Idle      string   `json:"idle,omitempty"`      // or never
	Skew      string   `json:"skew,omitempty"`      // or never
	Size      string   `json:"size,omitempty"`      // of a window
	Offset    string   `json:"offset,omitempty"`
	Grace     string   `json:"grace,omitempty"`
	Sources   []string `json:"sources,omitempty"` // whose least watermark is W
}

// EdgeJSON is an edge of the graph.
type EdgeJSON struct {
	To   string `json:"to"`
	Rows string `json:"rows"`         // rows, late or dead-letters
	If   string `json:"if,omitempty"` // of a route: the condition, or else
}

// WriteJSON writes a graph for programs, as PlanJSON says. Equal graphs give equal bytes. The error is that of w.
func WriteJSON(w io.Writer, g *Graph) error {
	plan := PlanJSON{File: g.File, Pipeline: g.Job.Name, Operators: []OperatorJSON{}}
	if c := g.Job.Connection; c.Said() {
		plan.Connection = connectionJSON(c)
	}
	for _, n := range g.Nodes {
		plan.Operators = append(plan.Operators, operatorJSON(g, n))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(plan); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

func connectionJSON(c Connection) *ConnectionJSON {
	out := &ConnectionJSON{SASL: c.SASL.Mechanism, Secret: c.SASL.Secret}
	if c.Brokers != (Setting{}) {
		out.Brokers = &BrokersJSON{List: c.Brokers.Text, Env: c.Brokers.Env}
	}
	if c.TLS.Place.Line > 0 {
		out.TLS = tlsText(c)
	}
	return out
}

func operatorJSON(g *Graph, n *Node) OperatorJSON {
	o := OperatorJSON{
		ID: n.ID, Kind: n.Kind(), Stream: n.Stream, Line: n.Place.Line, Column: n.Place.Column, Text: n.Clauses(),
		Chain: n.Chain, Row: []FieldJSON{}, State: g.stateForm(n.ID), In: []string{}, Out: []EdgeJSON{},
	}
	for _, f := range n.Row {
		o.Row = append(o.Row, FieldJSON{f.Name, f.Type.String()})
	}
	for _, in := range n.In {
		o.In = append(o.In, in.ID)
	}
	for i, e := range n.Out {
		o.Out = append(o.Out, EdgeJSON{To: e.To.ID, Rows: e.Kind.String(), If: n.Condition(i)})
	}
	o.details(n)
	return o
}

// details fills in what only some kinds have.
func (o *OperatorJSON) details(n *Node) {
	switch op := n.Op.(type) {
	case *Source:
		for _, i := range op.Used {
			o.Used = append(o.Used, n.Row[i].Name)
		}
		o.Topic = &TopicJSON{Name: op.Topic.Text, Env: op.Topic.Env}
		if op.Connection.Said() {
			o.Connection = connectionJSON(op.Connection)
		}
		o.OnError, o.OnNull = onErrorText(op.OnError), onNullText(op.FailOnNull)
		if op.HasWatermark {
			o.Time = &TimeJSON{Watermark: short(op.Watermark), Idle: orNever(op.Idle), Skew: orNever(op.Skew)}
		}
	case *Exchange:
		o.Keys = keysJSON(op.Keys)
	case *Window:
		o.Keys = keysJSON(op.By)
		o.Time = &TimeJSON{Size: short(op.Size), Offset: unlessZero(op.Offset), Grace: unlessZero(op.Grace)}
		for _, s := range op.Sources {
			o.Time.Sources = append(o.Time.Sources, s.ID)
		}
	case *Sink:
		o.Keys = keysJSON(op.Key)
		o.Topic = &TopicJSON{Name: op.Topic.Text, Env: op.Topic.Env, Deliver: deliveryText(op.Deliver)}
	case *DeadLetter:
		o.Topic = &TopicJSON{Name: op.Topic.Text, Env: op.Topic.Env, Deliver: deliveryText(op.Deliver)}
	}
}

func keysJSON(keys []ir.Named) []FieldJSON {
	var list []FieldJSON
	for _, k := range keys {
		list = append(list, FieldJSON{k.Name, k.Expr.Type().String()})
	}
	return list
}

func unlessZero(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return short(d)
}
