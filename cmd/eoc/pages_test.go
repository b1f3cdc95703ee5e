//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/internal/pages"
)

// The commands of each page are run as they stand there, one block after the other; see package pages. Those that need
// more than a test has are looked at by TestCommandsThatAreNotRun.
func TestPages(t *testing.T) {
	for _, p := range readPages(t) {
		if ownTest[p.Path] != "" {
			continue
		}
		t.Run(filepath.Base(p.Path), func(t *testing.T) {
			f := &folder{t: t, dir: t.TempDir()}
			if err := os.CopyFS(filepath.Join(f.dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
				t.Fatal(err)
			}
			f.stand()
			printed := ""
			for _, b := range p.Blocks {
				switch {
				case b.File() != "":
					f.write(b.File(), b.Text)
				case b.Lang == "sh" && b.Needs() == "" && endless(b.Text) != "":
					t.Fatalf("%s: %s runs until it is stopped; begin the block with a comment `# needs …`", b.Place(), endless(b.Text))
				case b.Lang == "sh" && b.Needs() == "":
					printed = f.run(b)
				case b.Lang == "output" && b.Info == "part" && strings.Contains(spaced(printed), spaced(b.Text)):
				case b.Lang == "output" && spaced(b.Text) != spaced(printed):
					t.Errorf("%s: the commands before it print\n%s", b.Place(), printed)
				case b.Lang == "go":
					t.Errorf("%s: Go that no test compiles; name a file behind the fence, and run it", b.Place())
				}
			}
		})
	}
}

// endless is a command of a block that does not end by itself; "" if all do.
func endless(text string) string {
	return regexp.MustCompile(`(?m)^\./[a-z-]+( --(brokers|state|name|http|parallelism|create-topics)\b[= ]?[^- ]*)*$`).FindString(text)
}

// spaced is text with one space for many: what tools set in columns, pages do too.
func spaced(text string) string { return regexp.MustCompile(`[ \t]+`).ReplaceAllString(text, " ") }

// folder is where the commands of one page are run.
type folder struct {
	t      *testing.T
	dir    string // where the last block has ended
	env    []string
	broker *devkafka.Process // nil until a command needs it
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

// run runs a block of commands and returns what it printed to standard output.
func (f *folder) run(b pages.Block) string {
	t := f.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	commands := b.Text
	if strings.Contains(commands, documented) {
		if f.broker == nil {
			broker, err := devkafka.Start(ctx, os.Stderr, "eoc", "__broker")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { broker.Stop() })
			f.broker = broker
		}
		commands = strings.ReplaceAll(commands, documented, f.broker.Addr)
	}
	var stdout, stderr bytes.Buffer
	place := filepath.Join(t.TempDir(), "pwd")
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", commands+"\npwd > "+place)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = f.dir, f.env, &stdout, &stderr
	cmd.Stdin = strings.NewReader("q\n") // ends `eoc dev`, which would wait for edits
	// What the shell has started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
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
