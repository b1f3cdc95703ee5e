//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/internal/pages"
)

// folder is where the commands of one page are run.
type folder struct {
	t       *testing.T
	dir     string // where the last block has ended
	lib     string // stands for /var/lib
	env     []string
	broker  *devkafka.Process // nil until a command needs it
	program *background       // nil: none runs
}

// stand makes what takes the place of the world outside: no network, no home, a go command whose `go get` gets eoc from
// this repository.
func (f *folder) stand() {
	t := f.t
	bin := t.TempDir()
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	module := userModule(t, "shop")
	script := fmt.Sprintf(`#!/bin/sh
set -e
case $1 in
get)
	name=$(sed -n 's/^module //p' go.mod)
	sed "s|^module .*|module $name|" %[1]s/go.mod > go.mod.new
	mv go.mod.new go.mod
	cp %[1]s/go.sum .
	;;
*)
	exec %[2]s "$@"
	;;
esac
`, module, real)
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	f.env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home, "GOPROXY=off", "GOWORK=off",
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.Command(real, "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		f.env = append(f.env, name+"="+strings.TrimSpace(string(out)))
	}
}

func (f *folder) write(name, text string) {
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		f.t.Fatal(err)
	}
}

// documented is the broker of the pages. A test's own has another port.
const documented = "localhost:9092"

// here is commands of a page with the broker, the folder and a port of this test.
func (f *folder) here(ctx context.Context, commands string) string {
	f.t.Helper()
	if strings.Contains(commands, documented) && f.broker == nil {
		broker, err := devkafka.Start(ctx, os.Stderr, "eoc", "__broker")
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { broker.Stop() })
		f.broker = broker
	}
	own := []string{"/var/lib", f.lib, "--http 9400", "--http 0", "--ui", "--ui --http 0"}
	if f.broker != nil {
		own = append(own, documented, f.broker.Addr)
	}
	return strings.NewReplacer(own...).Replace(commands)
}

// shell is a shell with commands. What it has started ends with it.
func (f *folder) shell(ctx context.Context, commands string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", commands)
	cmd.Dir, cmd.Env = f.dir, f.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// run runs a block of commands and returns what it printed to standard output.
func (f *folder) run(b pages.Block) string {
	t := f.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	commands := f.here(ctx, b.Text)
	var stdout, stderr bytes.Buffer
	place := filepath.Join(t.TempDir(), "pwd")
	cmd := f.shell(ctx, commands+"\npwd > "+place)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Stdin = strings.NewReader("q\n") // ends `eoc dev`, which would wait for edits
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s%s", b.Place(), err, commands, stdout.String(), stderr.String())
	}
	dir, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	f.dir = strings.TrimSpace(string(dir))
	return stdout.String()
}

// start runs a block whose last command does not end. If that is a program, it runs on once it says so, in place of one that was started before; a
// consumer has done its work when it has shown a record.
func (f *folder) start(b pages.Block) {
	f.t.Helper()
	last := endless(b.Text)
	b.Text = strings.TrimSuffix(strings.TrimSuffix(b.Text, last), "&& ") + "\n"
	f.run(b)
	if !strings.HasPrefix(last, "./") {
		f.launch(last, "{").end(f.t, syscall.SIGINT)
		return
	}
	f.stop()
	f.program = f.launch(last, "running")
}

// stop stops the program, which has to end well.
func (f *folder) stop() {
	f.t.Helper()
	if f.program == nil {
		return
	}
	if err := f.program.end(f.t, syscall.SIGTERM); err != nil {
		f.t.Errorf("%v\n%s", err, f.program.out.String())
	}
	f.program = nil
}

// background is a process that runs until it is stopped.
type background struct {
	cmd   *exec.Cmd
	out   *watched
	ended chan error
}

// launch starts a command, and returns when it has printed a sign.
func (f *folder) launch(command, sign string) *background {
	t := f.t
	t.Helper()
	b := &background{
		cmd:   f.shell(t.Context(), "exec "+f.here(t.Context(), command)),
		out:   &watched{sign: sign, seen: make(chan struct{})},
		ended: make(chan error, 1),
	}
	b.cmd.Stdout, b.cmd.Stderr = b.out, b.out
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { b.ended <- b.cmd.Wait() }()
	select {
	case <-b.out.seen:
	case err := <-b.ended:
		t.Fatalf("%s: %v before %q\n%s", command, err, sign, b.out)
	case <-time.After(patience):
		t.Fatalf("%s: no %q\n%s", command, sign, b.out)
	}
	return b
}

// end ends the process by a signal, and returns how that was.
func (b *background) end(t *testing.T, s syscall.Signal) error {
	t.Helper()
	if err := b.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-b.ended:
		return err
	case <-time.After(patience):
		t.Fatalf("it does not end after %v\n%s", s, b.out)
		return nil
	}
}

// watched takes what a process prints, and says when a sign is in it.
type watched struct {
	sign string
	seen chan struct{} // closed when it is there

	mu   sync.Mutex
	text strings.Builder
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := strings.Contains(w.text.String(), w.sign)
	w.text.Write(b)
	if !before && strings.Contains(w.text.String(), w.sign) {
		close(w.seen)
	}
	return len(b), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
