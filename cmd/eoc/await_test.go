//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A file that is a pipe can be waited at for ever, by whoever opens it or reads it. The end of ctx, which is the first signal, ends every verb all the same.
func TestInterruptedReads(t *testing.T) {
	for _, verb := range [][]string{{"check"}, {"fmt"}, {"plan"}, {"generate"}, {"build"}, {"run"}, {"dev"}, {"dev", "--until-end"}, {"test", "--crash"}} {
		name := strings.Join(verb, " ")
		for _, written := range []bool{false, true} { // nobody has opened it, and nobody writes what they should
			pipe := filepath.Join(t.TempDir(), "pipe.eo")
			if err := syscall.Mkfifo(pipe, 0o666); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var out, said bytes.Buffer
			ended := make(chan int, 1)
			go func() { ended <- run(ctx, append(verb, pipe), streams{strings.NewReader(""), &out, &said}) }()
			if written {
				w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // when the verb has opened it
				if err == nil {
					_, err = w.WriteString("stream x")
				}
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
			}
			cancel()
			select {
			case code := <-ended:
				if code != exitInterrupted || out.Len()+said.Len() > 0 {
					t.Errorf("eoc %s, written %v: code %d, says %q %q", name, written, code, &out, &said)
				}
			case <-time.After(time.Minute):
				t.Fatalf("eoc %s, written %v: it still reads", name, written)
			}
		}
	}
}

// A panic of what is awaited is one of who awaits it, with the place where it was.
func TestAwait(t *testing.T) {
	if n, err := await(t.Context(), func() (int, error) { return 7, errors.New("eight") }); n != 7 || err == nil || err.Error() != "eight" {
		t.Errorf("%d, %v", n, err)
	}
	defer func() {
		if p, ok := recover().(*panicked); !ok || p.what != "out of ideas" || !strings.Contains(string(p.stack), "await_test.go") {
			t.Errorf("panicked with %+v", p)
		}
	}()
	await(t.Context(), func() (int, error) { panic("out of ideas") })
}
