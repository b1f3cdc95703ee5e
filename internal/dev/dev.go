// Package dev runs a pipeline on one machine while it is being written: with an embedded broker, with sample data, and again
// after each edit. It shows what a reader of the topics would see, which is what is committed.
package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/eoc-lang/eoc/planner"
)

// ErrFaulty says that the .eo file has errors, which have been shown.
var ErrFaulty = errors.New("the .eo file has errors")

// ExitError says that the program has ended with a code, and has said why. The codes are those of runtime.Main.
type ExitError struct{ Code int }

func (e ExitError) Error() string { return fmt.Sprintf("the program ended with code %d", e.Code) }

// Program is a pipeline that was compiled.
type Program struct {
	Path  string // of the binary; another path for another content
	Graph *planner.Graph
}

// Options say what is run, and how.
type Options struct {
	File string // the .eo file
	// Compile makes the program of File as it is now. It shows what is wrong with it; then it returns ErrFaulty.
	Compile func(context.Context) (Program, error)
	// Explain is what is said of another error of Compile after an edit.
	Explain func(error) string
	// Command runs this eoc. With BrokerVerb behind it, it calls devkafka.Serve; with GuardVerb and a command, Guard.
	Command []string

	Data       string            // folder of sample data, see docs/dev.md; "": none
	Rate       float64           // records a second of each topic; 0: all at once
	Key        map[string]string // topic ("" for all) to the field that gives its records their key
	Time       map[string]string // and their Kafka timestamp; else it is the field of the event time
	Partitions int32             // of topics
	UntilEnd   bool              // close all windows at the end of the data, and return
	Fresh      bool              // start over after each edit
	Keep       string            // folder for state and log, which stays; "": a temporary one
	Page       bool              // have the program serve a page about itself
	Arguments  []string          // of the program, behind those that it gets from here

	In       io.Reader // commands and records; not read with UntilEnd
	Terminal bool      // In is a terminal
	Out, Err io.Writer // results, and all that is said about them
	Columns  bool      // Out is a terminal: results in columns, else with tabs
	Colour   bool      // of results
}

// The hidden verbs of eoc.
const (
	BrokerVerb = "__broker"
	GuardVerb  = "__guard"
)

// brokerLimit is how long the embedded broker may take to answer.
const brokerLimit = 30 * time.Second

// dev is a run of Run.
type dev struct {
	Options
	screen  *screen
	dir     string
	page    string  // address of the program's page, once it is chosen
	program Program // as it was edited last, without errors
	edits   <-chan struct{}
	lines   <-chan line
}

// Run runs the pipeline until ctx ends, which is no error. With UntilEnd it returns when all data is worked off, and the end of ctx before is one.
func Run(ctx context.Context, o Options) (failure error) {
	d := &dev{Options: o, screen: newScreen(o)}
	if !o.UntilEnd {
		edits, stop, err := watchFile(o.File)
		if err != nil {
			return err
		}
		defer stop()
		d.edits = edits
	}
	var err error
	if d.program, err = o.Compile(ctx); err != nil {
		return err
	}
	release, err := d.makeDir()
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, release()) }()
	if !o.UntilEnd && o.In != nil {
		d.lines = readLines(ctx, o.In)
	}
	for {
		again, err := d.live(ctx)
		switch {
		case ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())):
			if o.UntilEnd {
				return ctx.Err() // whoever takes 0 for all results has none
			}
			return nil
		case err != nil || !again:
			return err
		}
		d.screen.say("starting over: the topics are empty, the data is fed anew")
	}
}

// cutShort says whether what was to be read to its end will not be: then there are no results that could be taken for all.
func (d *dev) cutShort(ctx context.Context) bool {
	if !d.UntilEnd || ctx.Err() == nil {
		return false
	}
	d.screen.say("interrupted before all was read: there are no results")
	return true
}

// live is one life, from empty topics to the end, or to the wish for another one.
func (d *dev) live(ctx context.Context) (again bool, err error) {
	if err := os.RemoveAll(filepath.Join(d.dir, "state")); err != nil {
		return false, err
	}
	l, err := d.begin(ctx)
	defer func() {
		// A program that does not take its flags has made nothing of the data, and neither has one that got none of it.
		var exit ExitError
		made := err == nil || errors.As(err, &exit) && exit.Code != codeUsage
		last := !again && made && !d.cutShort(ctx)
		err = errors.Join(err, l.end(last))
	}()
	if err != nil {
		return false, err
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		var ended <-chan struct{}
		if l.process != nil {
			ended = l.process.ended
		}
		var looks <-chan time.Time
		if l.process != nil && l.fed == nil && !l.caughtUp && !d.UntilEnd {
			looks = look.C
		}
		select {
		case <-ctx.Done():
			return false, nil
		case err := <-l.failed:
			return false, err
		case err := <-l.fed:
			if l.fed = nil; err != nil {
				return false, err
			}
			if d.UntilEnd {
				err = l.start("--until", "latest")
			}
			if err != nil {
				return false, err
			}
		case <-looks:
			if err := l.look(ctx); err != nil {
				return false, err
			}
		case <-ended:
			if done, err := l.programEnded(); done || err != nil {
				return false, err
			}
		case <-d.edits:
			if again, err := l.edited(ctx); again || err != nil {
				return again, err
			}
		case line, ok := <-d.lines:
			if !ok {
				d.lines = nil // there is no more to be said; the pipeline runs on
				if d.Terminal {
					d.screen.say("standard input has ended: lines are no longer read, the pipeline runs on, and Ctrl-C ends it")
				}
				continue
			}
			switch what, err := l.command(ctx, line); {
			case err != nil:
				return false, err
			case what != goOn:
				return what == startOver, nil
			}
		}
	}
}
