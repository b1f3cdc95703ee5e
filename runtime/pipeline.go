package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/ui"
)

// Pipeline is what the runtime has to know of a pipeline before it builds tasks.
type Pipeline struct {
	Name string // [a-z0-9._-]+
	File string // base name of the .eo file

	Connection  Connection
	Checkpoint  Time    // interval between two checkpoints
	Memory      bool    // keep state in memory only
	StateDir    Setting // else here
	Parallelism int
	TxnPrefix   Setting // of the transactional ids
	TxnTimeout  Time
	RestartMin  Time // pause after a fault of network or broker, growing …
	RestartMax  Time // … to this

	State []StateForm
	Graph []Node // the operators as the .eo file has them, for who looks at the running program
	Build BuildFunc

	brokers *[]string // one of each connection, for commands in messages; nil: they are not known
}

// Node is an operator of the .eo file.
type Node = ui.Node

// Edge is a way of rows from one operator to another.
type Edge = ui.Edge

// StateForm names what an operator or source keeps in a checkpoint. A checkpoint whose forms
// differ is refused.
type StateForm struct {
	ID    string // of the operator
	Place string // `orders.eo:18`
	Form  string // what the contents depend on
}

// Setting is a string of the .eo file: a text, or the name of an environment variable that is
// read at the start.
type Setting = settings.Setting

// Connection is what the .eo file says of the way to Kafka; the zero Connection: nothing.
type Connection = settings.Connection

// TLS is how the connection is encrypted.
type TLS = settings.TLS

// SASL is who the program says it is.
type SASL = settings.SASL

// BuildFunc declares the parts of a pipeline in a task. It is called once for each task.
type BuildFunc func(*Task)

// Build makes a BuildFunc of a generated function. The runtime has no use for the operators
// that it returns: they are called through what they have declared.
func Build[P any](build func(*Task) P) BuildFunc {
	return func(t *Task) { build(t) }
}

// Spec is what the engine is told of p: every declaration, with its settings looked up in the
// environment. StateDir and TxnPrefix are not filled in: flags go over them, which package
// settings knows. An error is of kind usage and names the variable or topic. It is for the runtime's own
// packages, whose types it returns.
func (p Pipeline) Spec(env func(name string) (value string, ok bool)) (engine.Spec, error) {
	t, err := newTask(p, env, nil, 0)
	if err != nil {
		return engine.Spec{}, err
	}
	s := engine.Spec{
		Name: p.Name, File: p.File,
		Checkpoint: p.Checkpoint.duration(), Memory: p.Memory, Parallelism: p.Parallelism,
		TxnTimeout: p.TxnTimeout.duration(), RestartMin: p.RestartMin.duration(), RestartMax: p.RestartMax.duration(),
		New: func(out engine.Outlet, targets int) engine.Worker {
			t, err := newTask(p, env, out, targets)
			if err != nil {
				panic(err) // it worked above, and nothing changes the environment
			}
			return worker{t}
		},
		Merge: func(id string, group int, deltas [][]byte, w int64) ([]byte, error) {
			op, err := t.operatorOf(id)
			if err != nil {
				return nil, err
			}
			return op.merge(group, deltas, Time(w))
		},
	}
	s.Program = p.shape()
	for _, f := range p.State {
		s.State = append(s.State, engine.Form(f))
	}
	for _, src := range t.sources {
		s.Sources = append(s.Sources, src.declaration())
	}
	for _, sink := range t.sinks {
		s.Sinks = append(s.Sinks, sink.declaration())
	}
	for _, op := range t.operators {
		s.Operators = append(s.Operators, op.declaration())
	}
	for _, c := range t.counters {
		s.Counters = append(s.Counters, engine.CounterSpec{Operator: c.operator, Place: c.place, Name: c.name})
	}
	return s, checkTopics(s)
}

// shape is a hash of the operators and the ways between them. What they do with a row is not part of it.
func (p Pipeline) shape() string {
	h := sha256.New()
	for _, n := range p.Graph {
		fmt.Fprintf(h, "%q %q\n", n.ID, n.Kind)
		for _, e := range n.Out {
			fmt.Fprintf(h, " %q %q %t\n", e.To, e.Rows, e.If == "")
		}
	}
	const enough = 16 // bytes
	return hex.EncodeToString(h.Sum(nil)[:enough])
}

// checkTopics refuses what the compiler refuses where it can see it: variables can give two
// declarations the same topic. Whether two connections lead to one cluster is seen at start.
func checkTopics(s engine.Spec) error {
	type topic struct {
		connection int
		name       string
	}
	places := map[topic]string{}
	for _, src := range s.Sources {
		at := topic{src.Connection, src.Topic}
		if other, ok := places[at]; ok {
			return failure.New(failure.Usage, "a topic is read by one source; let the streams share it", nil,
				"sources at %s and %s read the same topic %s", other, src.Place, src.Topic)
		}
		places[at] = src.Place
	}
	for _, sink := range s.Sinks {
		if other, ok := places[topic{0, sink.Topic}]; ok {
			return failure.New(failure.Usage, "give one of them another topic", nil,
				"topic %s is written (%s) and read (%s)", sink.Topic, sink.Place, other)
		}
	}
	return nil
}

func (t Time) duration() time.Duration {
	return time.Duration(min(t, MaxTime/1000)) * time.Microsecond
}
