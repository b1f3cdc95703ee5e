// Command runner runs generated pipelines in memory. It reads a script from standard input and writes
// what came of it to standard output, both as JSON; see script and outcome in ../../runner_test.go.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/eoc-lang/eoc/runtime/rttest"
)

type script struct {
	Pipeline   string
	Config     rttest.Config // without Rand
	Seed       uint64        // of Rand; 0: none
	Steps      []step
	SinkTopics []string
}

type step struct {
	Do        string // append, read, idle, checkpoint, crash, end, show
	Topic     string
	Partition int
	Records   []rttest.Record // of append
	N         int             // of read: records; of crash: tasks afterwards
}

type outcome struct {
	Error string // of the step that failed; those behind it are left out
	state
	Shown []state // by each step show
}

type state struct {
	Sinks  map[string][]rttest.Record
	Counts []rttest.Count
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
}

func run() error {
	var s script
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		return err
	}
	pipeline, ok := pipelines[s.Pipeline]
	if !ok {
		return fmt.Errorf("no pipeline %q", s.Pipeline)
	}
	if s.Seed != 0 {
		s.Config.Rand = rand.New(rand.NewPCG(s.Seed, 1))
	}
	r, err := rttest.New(pipeline(), s.Config)
	if err != nil {
		return err
	}
	var out outcome
	for _, step := range s.Steps {
		if step.Do == "show" {
			out.Shown = append(out.Shown, stateOf(r, s.SinkTopics))
		} else if err := step.run(r); err != nil {
			out.Error = err.Error()
			break
		}
	}
	out.state = stateOf(r, s.SinkTopics)
	if err := out.reread(rows[s.Pipeline]); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func stateOf(r *rttest.Run, topics []string) state {
	s := state{Sinks: map[string][]rttest.Record{}, Counts: r.Counts()}
	for _, topic := range topics {
		s.Sinks[topic] = r.Output(topic)
	}
	return s
}

// row is a type of a package for what a sink writes.
type row interface {
	json.Marshaler
	json.Unmarshaler
}

// reread decodes all that was written into the types of the package, which write it again, byte for byte.
func (s state) reread(rows map[string]row) error {
	for topic, row := range rows {
		for _, r := range s.Sinks[topic] {
			if err := row.UnmarshalJSON(r.Value); err != nil {
				return fmt.Errorf("a %T cannot be read: %w: %s", row, err, r.Value)
			}
			if text, err := row.MarshalJSON(); err != nil || string(text) != string(r.Value) {
				return fmt.Errorf("a %T becomes %s (%v), and was %s", row, text, err, r.Value)
			}
		}
	}
	return nil
}

func (s step) run(r *rttest.Run) error {
	switch s.Do {
	case "append":
		r.Append(s.Topic, s.Partition, s.Records...)
	case "read":
		return r.Read(s.Topic, s.Partition, s.N)
	case "idle":
		return r.Idle(s.Topic, s.Partition)
	case "checkpoint":
		return r.Checkpoint()
	case "crash":
		return r.Crash(s.N)
	case "end":
		return r.End()
	default:
		return fmt.Errorf("no step %q", s.Do)
	}
	return nil
}
