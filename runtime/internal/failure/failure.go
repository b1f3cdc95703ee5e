// Package failure classifies what can go wrong in a running pipeline: what is retried in
// the process, and with which code the process exits for what is not. It is a leaf.
package failure

import (
	"errors"
	"fmt"
	"strings"
)

// Kind says what to do about a failure. Its number is the exit code of the process.
type Kind uint8

const (
	Transient Kind = 0  // network or broker: torn down and tried again in the process, never an exit code
	Internal  Kind = 1  // a bug of ours
	Usage     Kind = 2  // wrong flags or environment
	Record    Kind = 3  // a bad record or result under `on_error fail`
	Fenced    Kind = 4  // another copy owns the pipeline or its state directory
	State     Kind = 5  // the state is refused: damaged, older than the marker, of another program or incarnation
	Disk      Kind = 6  // the disk is full or fails
	Cluster   Kind = 7  // the cluster is not as needed: topic missing, limit too low, no rights, no trust
	Lost      Kind = 8  // input is gone: offset out of range, topic recreated, partitions missing
	Unknown   Kind = 9  // whether a transaction was committed cannot be known
	Deadline  Kind = 10 // stopped without a last checkpoint; nothing is lost, the next start goes on
	Differs   Kind = 11 // of verify: what is there is not what the pipeline has written or counted
	Unproved  Kind = 12 // of verify: it cannot be said whether all is there
	Memory    Kind = 13 // the state does not fit into memory; nothing is lost
)

// Error is a failure with its kind, what was being done, and what to do about it.
type Error struct {
	Kind Kind
	What string // a sentence without a full stop: what failed, with all numbers and names
	Help string // what to do, perhaps a command; empty for Transient and Internal alone, which the process answers itself
	Err  error  // the cause, may be nil

	shown string // of kind Record: What without what it quotes of records; "": it is not known what that would be
}

// What to do about a failure that several places find.
const (
	// StateHelp: a state that cannot be used.
	StateHelp = "put back a copy of the state directory that is not older than the last commit (an older one is refused), " +
		"or begin a new incarnation with --fresh, which keeps a damaged file under another name and derives all output once more"
	// MemoryHelp: a state that is asked for and kept nowhere.
	MemoryHelp = "write `store bolt(\"DIR\")` into the job of the .eo file to keep one"
)

func (e *Error) Error() string { return e.text(e.What, error.Error) }

// text is the whole sentence.
func (e *Error) text(what string, of func(error) string) string {
	if e.Err != nil {
		what += ": " + strings.TrimSuffix(of(e.Err), ".") // Kafka's texts are sentences
	}
	if e.Help != "" {
		what += "; " + e.Help
	}
	return what
}

func (e *Error) Unwrap() error { return e.Err }

// New makes a failure of the given kind.
func New(kind Kind, help string, err error, what string, args ...any) error {
	return &Error{Kind: kind, What: fmt.Sprintf(what, args...), Help: help, Err: err}
}

// OfRecord makes a failure of kind Record. What may quote the record, its key or a result; shown is the same without that.
func OfRecord(help string, err error, what, shown string) error {
	return &Error{Kind: Record, What: what, Help: help, Err: err, shown: shown}
}

// Shown is what everybody may read of err, also who can reach the port of a program and gives no password: contents of records may be secret, so
// they are for the log alone. What others have put around an Error is left out, since it repeats its text.
func Shown(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	what := e.What
	if e.Kind == Record {
		if what = e.shown; what == "" {
			return "a record or result is at fault; the log says which, and why"
		}
	}
	return e.text(what, Shown)
}

// KindOf is the kind of err. What nobody has classified is a bug of ours: Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
