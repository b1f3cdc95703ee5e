// Command eoc compiles .eo files, which derive Kafka topics from Kafka topics, into programs that do so exactly once.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/eoc-lang/eoc/internal/build"
)

// Exit codes.
const (
	exitFaulty      = 1   // the .eo file has errors; fmt -d: it is not formatted
	exitUsage       = 2   // wrong flags, a file that cannot be read, a machine without what is needed
	exitBug         = 3   // a fault of eoc
	exitInterrupted = 130 // as shells have it for SIGINT
)

func main() {
	// A second signal ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are where eoc reads and writes. Only results go to out: what is said to people goes to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run is eoc without the process: it returns the exit code.
func run(ctx context.Context, args []string, io streams) (code int) {
	defer func() {
		if p := recover(); p != nil {
			bug, ok := p.(*panicked)
			if !ok {
				bug = &panicked{fmt.Sprint(p), debug.Stack()}
			}
			code = reportBug(io, "panic: "+bug.what, fmt.Sprintf("%s\npanic: %s\n\n%s", versionLine(), bug.what, bug.stack))
		}
	}()
	cmd := newRoot(io)
	help := &page{to: io.out}
	cmd.SetOut(help)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	return exitCode(ctx, cmp.Or(err, help.err), io)
}

// page is where help goes: cobra does not look whether it could be written.
type page struct {
	to  io.Writer
	err error // the last one
}

func (p *page) Write(text []byte) (n int, err error) {
	if n, err = p.to.Write(text); err != nil {
		p.err = err
	}
	return n, err
}

// errFaulty says that diagnostics were printed and that there is no more to say.
var errFaulty = errors.New("the program has errors")

// bugError is a fault of eoc that is no panic.
type bugError struct{ err error }

func (e bugError) Error() string { return e.err.Error() }
func (e bugError) Unwrap() error { return e.err }

// programError says that a program that eoc has run ended with a code, and has said why.
type programError int

func (e programError) Error() string { return fmt.Sprintf("the program ended with code %d", int(e)) }

// exitCode prints what err says, and says with which code to exit.
func exitCode(ctx context.Context, err error, io streams) int {
	var compile *build.BugError
	var bug bugError
	var program programError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &program):
		return int(program)
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, errFaulty):
		return exitFaulty
	case errors.As(err, &compile):
		return reportBug(io, compile.Error(), compile.Report)
	case errors.As(err, &bug):
		return reportBug(io, bug.Error(), fmt.Sprintf("%s\n%v\n", versionLine(), bug))
	}
	// What else comes is about flags, files and this machine.
	fmt.Fprintf(io.err, "eoc: %s\n", strings.TrimSpace(err.Error()))
	return exitUsage
}

func reportBug(io streams, what, report string) int {
	fmt.Fprintf(io.err, `eoc: this is a bug of eoc, not of your program: %s.
Please report it at https://github.com/eoc-lang/eoc/issues/new with the text below the line. Attach the .eo file,
or the smallest part of it with which eoc says the same; names may be changed, and no data is needed.
------------------------------------------------------------------------
%s`, what, report)
	return exitBug
}
