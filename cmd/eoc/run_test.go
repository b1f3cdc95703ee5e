package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/internal/skip"
)

// An interrupt of `eoc run` reaches the program, which makes its last checkpoint; its exit code is that of eoc.
func TestRunPassesSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Loudly(t, "a process cannot be interrupted from outside")
	}
	const limit = 10 * time.Minute
	broker, err := devkafka.Start(t.Context(), os.Stderr, "eoc", "__broker")
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Stop()
	file, err := filepath.Abs(filepath.Join(root, "examples", "clicks.eo"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "eoc", "run", file, "--brokers", broker.Addr, "--create-topics")
	cmd.Dir, cmd.Env = t.TempDir(), ownCache(t)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(limit, func() { cmd.Process.Kill() }).Stop()
	var log []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		log = append(log, lines.Text())
		if strings.Contains(lines.Text(), "msg=running") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	text := strings.Join(log, "\n")
	if err := cmd.Wait(); err != nil || !regexp.MustCompile(`msg=stopped .*checkpoint=\d`).MatchString(text) || strings.Count(text, "msg=\"asked to stop\"") != 1 {
		t.Errorf("ended with %v\n%s", err, text)
	}
}

// ownCache is the environment with a cache folder for eoc that goes away; Go's stays where it is.
func ownCache(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+strings.TrimSpace(string(out)))
}
