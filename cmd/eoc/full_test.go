//go:build linux

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Who cannot write what was asked for says so, and exits with 2, whichever verb it is.
func TestFullDevice(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.eo": "type A { x:   int }\nsource a: A from kafka(\"a\")\nstream s { from a  to kafka(\"out\") }\n",
		"bad.eo":  "type A { x: int }\nsource a: A from kafka(\"a\")\nstream s { from a  where y > 0  to kafka(\"out\") }\n",
		"a.jsonl": "{\"x\":1}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{
		"", "--help", "check --help", "help build", "--version", "version", "explain", "explain unknown-field", "check --json bad.eo", "fmt good.eo", "fmt -d good.eo",
		"plan good.eo", "plan --format svg good.eo", "plan --format dot good.eo", "plan --format json good.eo", "init first", "completion bash",
		"dev --until-end --data . good.eo", "dev --data . good.eo", "test --crash --data . --transactions 2 --parallelism 1 --at none good.eo",
		"test --crash --json --data . --transactions 2 --parallelism 1 --at none good.eo",
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cmd := exec.CommandContext(ctx, "eoc", strings.Fields(args)...)
		var said bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, full, &said
		cmd.Run() // ProcessState says how it ended
		cancel()
		full.Close()
		if code := cmd.ProcessState.ExitCode(); code != exitUsage || strings.Count(said.String(), "no space left on device") != 1 {
			t.Errorf("eoc %s: code %d, says %q", args, code, &said)
		}
	}
}
