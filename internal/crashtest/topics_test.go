package crashtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fromEnvironment reads two topics of which the text knows no names.
const fromEnvironment = `type Order {
  user: string
  n:    int
  at:   timestamp
}

source first: Order from kafka(env("FIRST_TOPIC")) {
  time at  watermark 1s
}

source second: Order from kafka(env("SECOND_TOPIC")) {
  time at  watermark 1s
}

stream totals {
  from first, second
  window tumbling 1m by user
  aggregate total = sum(n)
  to kafka("totals") {
    key user
  }
}
`

// Topics that the environment names are told apart: in what is counted, and in what is said of a record or a result that stops the pipeline.
func TestTopicsOfTheEnvironment(t *testing.T) {
	t.Setenv("FIRST_TOPIC", "orders.a")
	t.Setenv("SECOND_TOPIC", "orders.b")
	const good = `{"user":"ada","n":1,"at":"2026-01-31T12:00:00Z"}` + "\n"
	const most = `{"user":"ada","n":9223372036854775807,"at":"2026-01-31T12:00:01Z"}` + "\n"
	for _, c := range []struct{ name, second, want string }{
		{"good", good, ""},
		{"a record", good + "\nno JSON\n", "orders.b.jsonl:3: this record stops the pipeline"},
		{"a result", most + most, "a result stops the pipeline"},
	} {
		o := options(t, "totals", fromEnvironment)
		o.Data, o.Only, o.Err = t.TempDir(), Schedule{}, t.Output()
		for topic, text := range map[string]string{"orders.a": good, "orders.b": c.second} {
			if err := os.WriteFile(filepath.Join(o.Data, topic+".jsonl"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		report, err := Run(t.Context(), o)
		var stop StopError
		switch {
		case c.want != "" && (!errors.As(err, &stop) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && !report.Passed():
			t.Errorf("%s: %+v", c.name, report.Runs[0].Faults)
		}
	}
}
