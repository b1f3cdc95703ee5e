package dev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/build"
	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/planner"
)

// limit is how long a test waits for anything.
const limit = 5 * time.Minute

// TestMain lets the test binary be the hidden verbs of eoc, and a program that waits.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case BrokerVerb:
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			defer stop()
			exit(0, devkafka.Serve(ctx, os.Stdin, os.Stdout))
		case GuardVerb:
			exit(Guard(os.Stdin, os.Stdout, os.Stderr, os.Args[2:]))
		case "hold":
			d := &dev{}
			if _, err := d.makeDir(); err != nil {
				exit(0, err)
			}
			fmt.Print(d.dir)
			io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		case "wait":
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, syscall.SIGTERM)
			fmt.Println("waiting")
			<-signals
			os.Exit(7)
		}
	}
	os.Exit(m.Run())
}

func exit(code int, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 99
	}
	os.Exit(code)
}

// transcript is what was written, line by line, and wakes who waits for a line.
type transcript struct {
	mu    sync.Mutex
	text  bytes.Buffer
	more  chan struct{} // closed when there is more
	taken int           // up to where wait has looked
}

func newTranscript() *transcript { return &transcript{more: make(chan struct{})} }

func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	close(tr.more)
	tr.more = make(chan struct{})
	return tr.text.Write(p)
}

func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.String()
}

// match is where re is found behind what was taken, n times, and a channel that closes when it is worth to look again.
func (tr *transcript) match(re *regexp.Regexp, n int) ([]string, <-chan struct{}) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	found := re.FindAllSubmatchIndex(tr.text.Bytes()[tr.taken:], n)
	if len(found) < n {
		return nil, tr.more
	}
	var groups []string
	last := found[n-1]
	for i := 0; i < len(last); i += 2 {
		groups = append(groups, string(tr.text.Bytes()[tr.taken+last[i]:tr.taken+last[i+1]]))
	}
	tr.taken += last[1]
	return groups, nil
}

// wait waits until a line matches for the n-th time, and goes on behind it. It returns the groups of the match.
func (tr *transcript) wait(t *testing.T, r *running, n int, line string) []string {
	t.Helper()
	re := regexp.MustCompile("(?m)" + line)
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		groups, more := tr.match(re, n)
		if groups != nil {
			return groups
		}
		select {
		case <-more:
		case err := <-r.ended:
			r.ended <- err
			t.Fatalf("ended with %v while waiting for %s\n%s\n%s", err, line, r.out, r.err)
		case <-timeout.C:
			t.Fatalf("waiting for %s\n%s\n%s", line, r.out, r.err)
		}
	}
}

// running is a Run at work.
type running struct {
	file     string
	out, err *transcript
	input    *io.PipeWriter
	ended    chan error
	cancel   context.CancelFunc
}

// run runs a pipeline. Temporary files of it are in a folder that has to be empty afterwards.
func run(t *testing.T, text string, change func(*Options)) *running {
	t.Helper()
	dir, temporary := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(out)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := &running{file: filepath.Join(dir, "shop.eo"), out: newTranscript(), err: newTranscript(), ended: make(chan error, 1)}
	r.save(t, text)
	in, input := io.Pipe()
	r.input = input
	o := Options{
		File: r.file, Compile: r.compile, Explain: func(err error) string { return "explained: " + err.Error() }, Command: []string{os.Args[0]}, Partitions: 1, Data: DataDir(r.file),
		In: in, Out: r.out, Err: r.err,
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit)
	r.cancel = cancel
	go func() { r.ended <- Run(ctx, o) }()
	t.Cleanup(func() {
		input.Close()
		cancel()
		<-r.ended
		if left, err := filepath.Glob(filepath.Join(temporary, "eoc-dev-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v (%v)", left, err)
		}
	})
	return r
}

// end waits for the end of Run.
func (r *running) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		return err
	case <-time.After(limit):
		t.Fatalf("does not end\n%s", r.err)
		return nil
	}
}

// save writes the file as most editors do: a new one takes its place.
func (r *running) save(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(r.file+"~", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.file+"~", r.file); err != nil {
		t.Fatal(err)
	}
}

func (r *running) say(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(r.input, line); err != nil {
		t.Fatal(err)
	}
}

// compile is what `eoc dev` does.
func (r *running) compile(ctx context.Context) (Program, error) {
	text, err := os.ReadFile(r.file)
	if err != nil {
		return Program{}, err
	}
	graph, diags := plan(filepath.Base(r.file), text)
	if err := diag.Render(r.err, diags, text, false); err != nil {
		return Program{}, err
	}
	if diag.HasErrors(diags) {
		return Program{}, ErrFaulty
	}
	generated, err := codegen.Generate(graph, codegen.Options{})
	if err != nil {
		return Program{}, err
	}
	program := map[string][]byte{}
	for _, f := range generated {
		program[f.Name] = f.Data
	}
	path, err := build.Cached(ctx, build.Request{Program: program, Source: r.file, Name: "shop", Version: "test"})
	return Program{Path: path, Graph: graph}, err
}

func plan(name string, text []byte) (*planner.Graph, []diag.Diagnostic) {
	program, diags := dsl.Check(name, text)
	if program == nil {
		return nil, diags
	}
	graph, more := planner.Plan(program)
	return graph, append(diags, more...)
}

// A program that nobody wants any more is killed, one that is asked stops in its own way.
func TestGuard(t *testing.T) {
	for _, c := range []struct {
		name, say string
		want      int
	}{{"asked", stopLine + "\n", 7}, {"left alone", "", ExitKilled}} {
		in, input := io.Pipe()
		out, output := io.Pipe()
		code := make(chan int, 1)
		failed := make(chan error, 1)
		go func() {
			n, err := Guard(in, output, os.Stderr, []string{os.Args[0], "wait"})
			code <- n
			failed <- err
		}()
		if _, err := fmt.Fscanln(out, new(string)); err != nil {
			t.Fatal(err)
		}
		if c.say == "" {
			input.Close()
		} else if _, err := io.WriteString(input, c.say); err != nil {
			t.Fatal(err)
		}
		if got, err := <-code, <-failed; got != c.want || err != nil {
			t.Errorf("%s: code %d (%v), want %d", c.name, got, err, c.want)
		}
	}
	if _, err := Guard(strings.NewReader(""), io.Discard, io.Discard, []string{"/nowhere/program"}); err == nil {
		t.Error("a missing program starts")
	}
}

// A file with errors is not run at all.
func TestFaultyAtTheBegin(t *testing.T) {
	r := run(t, "stream x {", nil)
	if err := r.end(t); !errors.Is(err, ErrFaulty) || !strings.Contains(r.err.String(), "shop.eo:1:") {
		t.Errorf("got %v\n%s", err, r.err)
	}
}
