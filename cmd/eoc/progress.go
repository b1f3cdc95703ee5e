package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/eoc-lang/eoc/runtime/terminal"
)

const (
	quietFor     = time.Second // what is ready sooner needs no progress
	refreshEvery = time.Second
)

// progress shows on a terminal how long something is taking, until the function that it returns is called;
// nothing of it stays.
func progress(w io.Writer, what string) (done func()) {
	if !terminal.Rewritten(w, os.LookupEnv) {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		began, tick := time.Now(), time.NewTicker(refreshEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if took := time.Since(began); took >= quietFor {
					fmt.Fprintf(w, "\r\x1b[K%s %ds", what, int(took.Seconds()))
				}
			case <-stop:
				fmt.Fprint(w, "\r\x1b[K")
				return
			}
		}
	}()
	return func() { close(stop); <-stopped }
}
