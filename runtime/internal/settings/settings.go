// Package settings is what a generated program can be told when it starts: flags, an environment
// variable for each of them, and settings of the .eo file that name a variable. A flag goes over its
// variable, the variable over the file. Every error is of kind failure.Usage.
package settings

import (
	"log/slog"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/secure"
)

// Variable is a setting of the .eo file that an environment variable gives.
type Variable struct {
	Setting Setting
	What    string // what it gives, such as `the topic of source orders (orders.eo:9)`
}

// Defaults is what the .eo file says, and what the program is.
type Defaults struct {
	Name        string        // the pipeline's name
	File        string        // base name of the .eo file
	Checkpoint  time.Duration // interval between two checkpoints
	Parallelism int
	StateDir    Setting
	Memory      bool // state is kept in memory: there is no state directory
	TxnPrefix   Setting
	Connection  Connection
	Variables   []Variable // of topics and groups: for --help
	// LongestCheckpoint is the longest interval that the transaction timeout leaves room for; 0: any.
	LongestCheckpoint time.Duration
	// API is the version of the runtime's face, for --version.
	API int
}

// Settings is how one run of a program is to be. All of it has been validated.
type Settings struct {
	// Answer is the text that --help or --version asked for. If there is one, the program prints
	// it to standard output and exits with 0; nothing else is set.
	Answer string

	Verb   Verb
	Action string // of a verb that has several, such as txn
	JSON   bool   // the answer to a verb that looks is to be JSON
	Yes    bool   // do what the verb would ask about first

	Since     int64 // of verify: the checkpoint to begin at
	SinceKept bool  // begin at the first checkpoint of which topics keep everything
	Shared    bool  // other producers may write to the topics of sinks

	Misspelt []Misspelling // variables that were perhaps meant for the program

	Brokers      []string // host:port, at least one
	Unnamed      string   // how Brokers are named, if nobody has
	Connection   secure.Config
	Others       []Target // the clusters of sources with connections of their own
	StateDir     string   // "" if state is kept in memory
	Name         string   // of the pipeline, [a-z0-9._-]+
	TxnPrefix    string   // of the transactional ids; follows Name unless the file says otherwise
	Until        Until
	Parallelism  int           // 1 to checkpoint.Groups
	Checkpoint   time.Duration // at least ShortestCheckpoint
	CreateTopics bool          // make topics that are missing
	Fresh        bool          // begin a new incarnation, with empty state
	AcceptLoss   bool          // go on although input is gone
	LogFormat    LogFormat
	LogLevel     slog.Level
	Progress     bool   // a line on a terminal, if there is one
	HTTP         string // host:port where the program shows itself; "": nowhere
	UI           bool   // with a page for browsers
	Pprof        bool   // profiles too
}

// Target is a cluster and how to reach it.
type Target struct {
	Brokers    []string // host:port, at least one
	Unnamed    string   // how they are named, if nobody has: they are the runtime's default then
	Connection secure.Config
}

// Reach is the target of a connection by its number: 0 is that of the job.
func (s Settings) Reach(connection int) Target {
	if connection == 0 {
		return Target{s.Brokers, s.Unnamed, s.Connection}
	}
	return s.Others[connection-1]
}

// Until is where a bounded run ends.
type Until = checkpoint.Until

// Env looks up an environment variable, as os.LookupEnv does.
type Env func(name string) (value string, ok bool)

// Setting is a string of the .eo file: a text, or env("X") or env("X", "default").
type Setting struct {
	Text       string // the text, or the default of Env
	Env        string // name of an environment variable, or ""
	HasDefault bool   // of Env
}

// Resolve is the setting's text. what names it in the error for a variable that is not set,
// such as "the topic of source orders (orders.eo:9)".
func (s Setting) Resolve(env Env, what string) (string, error) {
	if s.Env == "" {
		return s.Text, nil
	}
	if v, ok := env(s.Env); ok && v != "" {
		return v, nil
	}
	if s.HasDefault {
		return s.Text, nil
	}
	return "", failure.New(failure.Usage, "set it and start again", nil,
		"environment variable %s is not set: it gives %s", s.Env, what)
}

// String is the setting as the .eo file has it, for help texts.
func (s Setting) String() string {
	switch {
	case s.Env == "":
		return s.Text
	case s.HasDefault:
		return `env("` + s.Env + `", "` + s.Text + `")`
	}
	return `env("` + s.Env + `")`
}
