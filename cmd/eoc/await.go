package main

import (
	"context"
	"fmt"
	"runtime/debug"
)

// await returns what do does, or the end of ctx if that comes first: a read waits at a pipe for as long as nobody writes, and a file at all limits takes
// its time. What is still under way then ends with the process; it must change nothing that somebody else sees.
func await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type end struct {
		result T
		err    error
		bug    *panicked
	}
	ended := make(chan end, 1)
	go func() {
		var e end
		defer func() {
			if p := recover(); p != nil {
				e.bug = &panicked{fmt.Sprint(p), debug.Stack()}
			}
			ended <- e
		}()
		e.result, e.err = do()
	}()
	select {
	case e := <-ended:
		if e.bug != nil {
			panic(e.bug)
		}
		return e.result, e.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// panicked is a panic of another goroutine, and where it was.
type panicked struct {
	what  string
	stack []byte
}
