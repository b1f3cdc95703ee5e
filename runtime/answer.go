package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/eoc-lang/eoc/runtime/internal/doctor"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/inspect"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/txn"
	"github.com/eoc-lang/eoc/runtime/internal/verify"
	"github.com/eoc-lang/eoc/runtime/terminal"
)

// standardOutput takes the answer of a verb. That it cannot be written is a failure of the disk, whichever verb answers.
type standardOutput struct{}

func (standardOutput) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	if err != nil {
		err = failure.New(failure.Disk, "make room where it goes, or send it elsewhere", unwritten{err}, "the answer could not be written")
	}
	return n, err
}

// unwritten is why standard output takes nothing: it is of no use to write there why.
type unwritten struct{ error }

func (u unwritten) Unwrap() error { return u.error }

// answer carries out the verbs that are about a pipeline and do not run it. Their answer goes to standard output.
func answer(p Pipeline, set settings.Settings, spec engine.Spec) failure.Kind {
	options := state.Options{Pipeline: set.Name}
	for _, f := range p.State {
		options.Forms = append(options.Forms, engine.Form(f))
	}
	options.Fresh = set.Fresh
	if set.Verb == settings.Doctor {
		return report(p, doctor.Run(context.Background(), doctor.Config{Settings: set, Spec: spec, State: options}), set)
	}
	if set.Verb == settings.Verify {
		return audit(p, set, spec, options)
	}
	var err error
	if set.Verb == settings.Txn {
		cfg := txn.Config{Settings: set, Spec: spec, State: options, Out: standardOutput{}}
		if terminal.Is(os.Stdin) {
			cfg.In = os.Stdin
		}
		err = txn.Run(context.Background(), cfg)
	} else if p.Memory {
		err = failure.New(failure.State, failure.MemoryHelp, nil, "there is no state directory: %s keeps its state in memory", p.File)
	} else {
		err = inspect.Print(standardOutput{}, set.StateDir, options, set.JSON)
	}
	if err != nil {
		return refused(p, set, err)
	}
	return 0
}

// noAnswer is what stands in the place of an answer in JSON, where there is none. Its names do not change; new ones may come.
type noAnswer struct {
	Pipeline string `json:"pipeline"`
	File     string `json:"file"`
	Error    string `json:"error"`
	Code     int    `json:"code"` // with which the process ends
}

// refused says why a verb has no answer, to people on standard error, and to a program that has asked for JSON where it looks for the answer. It does not try
// again, as a run does.
func refused(p Pipeline, set settings.Settings, err error) failure.Kind {
	fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
	code := failure.KindOf(err)
	if code == failure.Transient {
		code = failure.Cluster
	}
	if set.JSON && !errors.As(err, new(unwritten)) {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		_ = e.Encode(noAnswer{p.Name, p.File, err.Error(), int(code)}) // the code says the reason, whether this is read or not
	}
	return code
}

// audit counts whether everything is there, and says on a terminal how far it is.
func audit(p Pipeline, set settings.Settings, spec engine.Spec, options state.Options) failure.Kind {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process whatever it waits for
	cfg := verify.Config{Settings: set, Spec: spec, Graph: p.Graph, State: options}
	line := &verify.Line{Out: os.Stderr}
	if set.Progress && terminal.Rewritten(os.Stderr, os.LookupEnv) {
		cfg.Progress = line.Show
	}
	r, err := verify.Run(ctx, cfg)
	line.Clear()
	switch {
	case ctx.Err() != nil:
		err = failure.New(failure.Unproved, "run it again and let it come to its end", nil, "interrupted: not everything was compared")
	case err == nil:
		err = r.Print(standardOutput{}, set.JSON, terminal.Coloured(os.Stdout, os.LookupEnv))
	}
	if err != nil {
		return refused(p, set, err)
	}
	return r.Code()
}

// report prints what doctor has found.
func report(p Pipeline, r *doctor.Report, set settings.Settings) failure.Kind {
	if err := r.Print(standardOutput{}, set.JSON, terminal.Coloured(os.Stdout, os.LookupEnv)); err != nil {
		return refused(p, set, err)
	}
	return r.Code()
}
