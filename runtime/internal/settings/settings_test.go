package settings

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/golden"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

func orders() Defaults {
	return Defaults{
		Name: "orders", File: "orders.eo", Checkpoint: time.Second, Parallelism: 2,
		StateDir: Setting{Text: "./state"}, TxnPrefix: Setting{Text: "orders"},
		LongestCheckpoint: 30 * time.Second, API: 1,
	}
}

func variables(pairs map[string]string) Env {
	return func(name string) (string, bool) {
		v, ok := pairs[name]
		return v, ok
	}
}

func TestParse(t *testing.T) {
	initial := Settings{
		Brokers: []string{"localhost:9092"}, Unnamed: "--brokers or EO_BROKERS", StateDir: "./state", Name: "orders", TxnPrefix: "orders",
		Parallelism: 2, Checkpoint: time.Second, LogFormat: Text, Progress: true, Verb: Run,
	}
	for _, c := range []struct {
		name   string
		args   string
		env    map[string]string
		change func(*Defaults)
		want   func(*Settings)
	}{
		{name: "nothing said"},
		{name: "the default broker, named", args: "--brokers localhost:9092", want: func(s *Settings) { s.Unnamed = "" }},
		{name: "all flags",
			args: "--brokers a:1,b --state /s --name o2 --until latest --parallelism 128 --checkpoint-interval 10ms --create-topics --fresh --accept-loss --log-format json --log-level debug --http 0.0.0.0:9400 --pprof --ui --progress=false",
			want: func(s *Settings) {
				*s = Settings{Verb: Run,
					Brokers: []string{"a:1", "b:9092"}, StateDir: "/s", Name: "o2", TxnPrefix: "o2", Until: Until{Latest: true},
					Parallelism: 128, Checkpoint: 10 * time.Millisecond, CreateTopics: true, Fresh: true, AcceptLoss: true,
					LogFormat: JSON, LogLevel: slog.LevelDebug, HTTP: "0.0.0.0:9400", Pprof: true, UI: true,
				}
			}},
		{name: "all variables",
			env: map[string]string{
				"EO_BROKERS": "[::1]:9093", "EO_STATE": "/s", "EO_NAME": "o2", "EO_UNTIL": "2026-01-31T12:00:00Z", "EO_PARALLELISM": "3",
				"EO_CHECKPOINT_INTERVAL": "2s", "EO_CREATE_TOPICS": "true", "EO_FRESH": "1", "EO_ACCEPT_LOSS": "true",
				"EO_LOG_FORMAT": "json", "EO_LOG_LEVEL": "error", "EO_HTTP": "9400", "EO_PPROF": "true", "EO_UI": "true",
			},
			want: func(s *Settings) {
				*s = Settings{Verb: Run,
					Brokers: []string{"[::1]:9093"}, StateDir: "/s", Name: "o2", TxnPrefix: "o2",
					Until:       Until{Time: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)},
					Parallelism: 3, Checkpoint: 2 * time.Second, CreateTopics: true, Fresh: true, AcceptLoss: true,
					LogFormat: JSON, LogLevel: slog.LevelError, HTTP: "127.0.0.1:9400", Pprof: true, UI: true, Progress: true,
				}
			}},
		{name: "a page without an address", args: "--ui", want: func(s *Settings) { s.HTTP, s.UI = "127.0.0.1:9400", true }},
		{name: "a page at an address", args: "--ui --http 0", want: func(s *Settings) { s.HTTP, s.UI = "127.0.0.1:0", true }},
		{name: "flag over variable", args: "--state=/flag --create-topics=false", env: map[string]string{"EO_STATE": "/env", "EO_CREATE_TOPICS": "true"},
			want: func(s *Settings) { s.StateDir = "/flag" }},
		{name: "run is the verb", args: "run --name o2", want: func(s *Settings) { s.Name, s.TxnPrefix = "o2", "o2" }},
		{name: "doctor has the flags of run", args: "doctor --state /s --json", want: func(s *Settings) { s.Verb, s.JSON, s.StateDir = Doctor, true, "/s" }},
		{name: "state has its own", args: "state", env: map[string]string{"EO_STATE": "/s"}, want: func(s *Settings) {
			*s = Settings{Verb: State, StateDir: "/s", Name: "orders", TxnPrefix: "orders"}
		}},
		{name: "txn does one thing", args: "txn commit --name o2 --yes", want: func(s *Settings) {
			*s = Settings{Verb: Txn, Action: TxnCommit, Yes: true, Brokers: []string{"localhost:9092"}, Unnamed: "--brokers or EO_BROKERS", StateDir: s.StateDir, Name: "o2", TxnPrefix: "o2"}
		}},
		{name: "a switch has a value", args: "doctor --json=1 --json=0 --json=t", want: func(s *Settings) { s.Verb, s.JSON = Doctor, true }},
		{name: "txn list answers in JSON", args: "txn list --json", want: func(s *Settings) {
			*s = Settings{Verb: Txn, Action: TxnList, JSON: true, Brokers: []string{"localhost:9092"}, Unnamed: "--brokers or EO_BROKERS", StateDir: s.StateDir, Name: "orders", TxnPrefix: "orders"}
		}},
		{name: "empty variable is not set", env: map[string]string{"EO_NAME": "", "EO_UNTIL": ""}},
		{name: "file names a variable", env: map[string]string{"DATA": "/data"},
			change: func(d *Defaults) { d.StateDir = Setting{Env: "DATA"} },
			want:   func(s *Settings) { s.StateDir = "/data" }},
		{name: "file's variable has a default",
			change: func(d *Defaults) { d.StateDir = Setting{Text: "/d", Env: "DATA", HasDefault: true} },
			want:   func(s *Settings) { s.StateDir = "/d" }},
		{name: "file's variable is not needed", args: "--state /flag",
			change: func(d *Defaults) { d.StateDir = Setting{Env: "DATA"} },
			want:   func(s *Settings) { s.StateDir = "/flag" }},
		{name: "prefix of the file stays", args: "--name o2",
			change: func(d *Defaults) { d.TxnPrefix = Setting{Text: "shop"} },
			want:   func(s *Settings) { s.Name, s.TxnPrefix = "o2", "shop" }},
		{name: "memory has no directory", env: map[string]string{"EO_STATE": "/env"},
			change: func(d *Defaults) { d.Memory, d.StateDir = true, Setting{} },
			want:   func(s *Settings) { s.StateDir = "" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, want := orders(), initial
			if c.change != nil {
				c.change(&d)
			}
			if c.want != nil {
				c.want(&want)
			}
			got, err := Parse(strings.Fields(c.args), variables(c.env), d)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		args   []string
		env    map[string]string
		change func(*Defaults)
		want   string
	}{
		{args: []string{"--brokes=a"}, want: "--brokes is not a flag of this program; did you mean --brokers?"},
		{args: []string{"--whatever"}, want: "--whatever is not a flag of this program; --help lists all flags"},
		{args: []string{"-x"}, want: "-x is not a flag of this program"},
		{args: []string{"start"}, want: `"start" is not a verb of this program, which has run, doctor, state, txn, verify; did you mean state?`},
		{args: []string{"diagnose"}, want: `"diagnose" is not a verb of this program, which has run, doctor, state, txn, verify; --help`},
		{args: []string{"help"}, want: "did you mean --help?"},
		{args: []string{"version"}, want: "did you mean --version?"},
		{args: []string{"--fresh", "run"}, want: `"run" is not expected: what is no flag is a verb, and stands first`},
		{args: []string{"state", "--brokers=a"}, want: "--brokers is not a flag of its verb state"},
		{args: []string{"txn"}, want: "txn wants to know what to do, before any flag: list, commit, abort, repair"},
		{args: []string{"txn", "--yes", "commit"}, want: "txn wants to know what to do, before any flag"},
		{args: []string{"txn", "rollback"}, want: `"rollback" is nothing that txn does, which has list, commit, abort, repair`},
		{args: []string{"txn", "commit", "--json"}, want: "--json is for list, --yes for the others"},
		{args: []string{"txn", "list", "--yes"}, want: "--json is for list, --yes for the others"},
		{args: []string{"txn", "list", "--fresh"}, want: "--fresh is not a flag of its verb txn"},
		{args: []string{"--json"}, want: "--json is not a flag of this program"},
		{args: []string{"state", "--state=x"}, change: func(d *Defaults) { d.Memory = true }, want: "orders.eo keeps its state in memory; write `store"},
		{args: []string{"--state"}, want: "--state has no value; expected --state DIR"},
		{args: []string{"--state="}, want: `--state is "": expected a directory`},
		{args: []string{"--http=0.0.0.0"}, want: `--http is "0.0.0.0": expected a port, such as 9400, or host:port`},
		{args: []string{"--http=:70000"}, want: `--http is ":70000": expected a port`},
		{args: []string{"--http=http://a:80"}, want: `--http is "http://a:80": expected a port`},
		{args: []string{"--pprof"}, want: "--pprof serves profiles at the address of --http, and none is set"},
		{args: []string{"--until="}, want: `--until is "": expected latest or a time`},
		{args: []string{"--until=2026-01-31"}, want: "in the form of RFC 3339, such as 2026-01-31T12:00:00Z"},
		{args: []string{"--until=1969-12-31T00:00:00Z"}, want: "expected latest or a time"},
		{args: []string{"--brokers=,"}, want: "expected at least one broker"},
		{args: []string{"--brokers=http://a:1"}, want: `"http://a:1" is not a broker`},
		{args: []string{"--brokers=a:x"}, want: `"a:x" is not a broker; expected host:port`},
		{args: []string{"--brokers=a:65536"}, want: `"a:65536" is not a broker`},
		{args: []string{"--brokers=:9092"}, want: `":9092" is not a broker`},
		{args: []string{"--name=Orders"}, want: `--name is "Orders": expected at most 200 of the characters`},
		{args: []string{"--name=" + strings.Repeat("a", 201)}, want: "expected at most 200"},
		{args: []string{"--parallelism=0"}, want: "expected a number from 1 to 128"},
		{args: []string{"--parallelism=129"}, want: "expected a number from 1 to 128"},
		{args: []string{"--parallelism=1.5"}, want: "expected a number from 1 to 128"},
		{args: []string{"--checkpoint-interval=1"}, want: "expected a duration, such as 500ms"},
		{args: []string{"--checkpoint-interval=9ms"}, want: "expected at least 10ms"},
		{args: []string{"--checkpoint-interval=31s"}, want: "expected at most 30s"},
		{args: []string{"--fresh=maybe"}, want: `--fresh is "maybe": expected true or false`},
		{args: []string{"verify", "--since=x"}, want: `--since is "x": expected the number of a checkpoint, or kept`},
		{args: []string{"--since=1"}, want: "--since is not a flag of this program"},
		{args: []string{"--log-format=xml"}, want: "expected text or json"},
		{args: []string{"--log-level=INFO"}, want: "expected debug, info, warn or error"},
		{env: map[string]string{"EO_PARALLELISM": "x"}, want: `environment variable EO_PARALLELISM is "x"`},
		{change: func(d *Defaults) { d.StateDir = Setting{Env: "DATA"} },
			want: "environment variable DATA is not set: it gives the state of orders.eo (--state and EO_STATE go over it)"},
		{change: func(d *Defaults) { d.TxnPrefix = Setting{Env: "PREFIX"} },
			want: "environment variable PREFIX is not set: it gives txn_prefix in the job of orders.eo"},
		{args: []string{"--state=/s"}, change: func(d *Defaults) { d.Memory = true },
			want: "--state is not a flag of this program"},
	} {
		d := orders()
		if c.change != nil {
			c.change(&d)
		}
		_, err := Parse(c.args, variables(c.env), d)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %v:\ngot  %v\nwant %s", c.args, c.env, err, c.want)
		} else if failure.KindOf(err) != failure.Usage {
			t.Errorf("%q: kind %d, want Usage", c.args, failure.KindOf(err))
		}
	}
}

func TestHelp(t *testing.T) {
	for _, flag := range []string{"--help", "-h"} {
		s, err := Parse([]string{flag}, variables(nil), orders())
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("testdata", "help.txt"), []byte(s.Answer))
	}
	for _, verb := range []string{"doctor", "state", "txn", "verify"} {
		s, err := Parse([]string{verb, "--help"}, variables(nil), orders())
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("testdata", "help-"+verb+".txt"), []byte(s.Answer))
	}
}

// Variables that the .eo file names are listed with what they give.
func TestHelpOfVariables(t *testing.T) {
	d := orders()
	d.Variables = []Variable{
		{Setting{Env: "IN"}, "the topic of source orders (orders.eo:9)"},
		{Setting{Env: "TOTALS", Text: "user-totals", HasDefault: true}, "the topic of sink totals (orders.eo:24)"},
	}
	d.TxnPrefix = Setting{Env: "PREFIX"}
	s, err := Parse([]string{"--help"}, variables(nil), d)
	if err != nil {
		t.Fatal(err)
	}
	want := `
Environment variables of orders.eo:
  IN      the topic of source orders (orders.eo:9), has to be set
  TOTALS  the topic of sink totals (orders.eo:24), default "user-totals"
  PREFIX  the prefix of transactional ids, has to be set

`
	if !strings.Contains(s.Answer, want) {
		t.Errorf("%s\nis missing in\n%s", want, s.Answer)
	}
}

// A variable that is nearly one of the program's is found; those of others, and what the file names, are not.
func TestMisspellings(t *testing.T) {
	d := orders()
	d.Variables = []Variable{{Setting: Setting{Env: "EO_NAMES"}}, {Setting: Setting{Env: "EO_SASL_TOKENS"}}}
	d.Connection.Brokers = Setting{Env: "EO_BROKERZ"}
	d.Connection.SASL.Secret = "EO_SASL_PASSWD"
	got := Misspellings([]string{
		"EO_BROKER=kafka:9092", "EO_STAT=/var/lib", "EO_SASL_PASWORD_FILE=x", "EO_FAILPOINTS=x",
		"EO_BROKERS=kafka:9092", "EO_STATE=", "EO_SASL_PASSWORD_FILE=x", "EO_NAMES=x", "EO_REQUIRE_KAFKA=1",
		"EO_BROKERZ=x", "EO_SASL_PASSWD=x", "EO_SASL_PASSWD_FILE=x", "EO_SASL_TOKENS_FILE=x", "BROKERS=x", "PATH=/bin",
	}, d)
	want := []Misspelling{{"EO_BROKER", "EO_BROKERS"}, {"EO_FAILPOINTS", "EO_FAILPOINT"}, {"EO_SASL_PASWORD_FILE", "EO_SASL_PASSWORD_FILE"}, {"EO_STAT", "EO_STATE"}}
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestVersion(t *testing.T) {
	s, err := Parse([]string{"--version"}, variables(nil), orders())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"orders, from orders.eo\n", "API 1\n", "go1."} {
		if !strings.Contains(s.Answer, want) {
			t.Errorf("%q is missing in\n%s", want, s.Answer)
		}
	}
}

// Every kind of failure that ends a program is an exit code of --help, in order. 11 and 12 are of another verb. Memory is the last one.
func TestExitCodesAreComplete(t *testing.T) {
	const before = failure.Deadline + 1
	for i, e := range exitCodes {
		if int(e.code) != i && (e.code <= before || e.code <= exitCodes[i-1].code) {
			t.Errorf("exit code %d stands at %d", e.code, i)
		}
	}
	if text := exitText(); !strings.Contains(text, "\n  13  the state does not fit into memory") {
		t.Errorf("a run may end with 13, which is not in\n%s", text)
	}
	if last := exitCodes[len(exitCodes)-1].code; last != failure.Memory {
		t.Errorf("the last exit code is %d, want %d", last, failure.Memory)
	}
}

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	Settings{LogFormat: JSON, LogLevel: slog.LevelWarn}.Logger(&out).Info("not this")
	Settings{LogFormat: JSON, LogLevel: slog.LevelWarn}.Logger(&out).Warn("this", "place", "orders.eo:3")
	var entry struct{ Msg, Place string }
	if err := json.Unmarshal(out.Bytes(), &entry); err != nil || entry.Msg != "this" || entry.Place != "orders.eo:3" {
		t.Errorf("log is %q (%v)", out.String(), err)
	}
	out.Reset()
	Settings{LogFormat: Text}.Logger(&out).Info("started", "n", 1)
	if !strings.Contains(out.String(), "level=INFO msg=started n=1\n") {
		t.Errorf("log is %q", out.String())
	}
}
