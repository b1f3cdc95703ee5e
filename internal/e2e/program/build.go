// Package program builds pipelines with eoc and runs their programs as processes, for tests and
// measurements that look at them from outside alone.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Compiler is an eoc, made of this checkout, and the binaries that it has made. The zero
// Compiler is ready; Close removes what it has made.
type Compiler struct {
	mu    sync.Mutex
	dir   string
	built map[variant]*binary
}

// Mode is how a binary is built.
type Mode struct {
	Failpoints bool   // with crash points
	Race       bool   // with Go's race detector
	Secret     string // NAME=value in the environment of eoc, which keeps its Go in Source then; "" for nothing of that
}

type variant struct {
	name, text string
	mode       Mode
}

type binary struct {
	once sync.Once
	path string
	err  error
}

// Build returns the binary of a pipeline with the given name and text, built at the first call for it.
func (c *Compiler) Build(t testing.TB, name, text string, mode Mode) string {
	t.Helper()
	eoc := c.build(variant{name: "eoc"}, func(output string) error {
		return run(exec.Command("go", "build", "-o", output, "github.com/eoc-lang/eoc/cmd/eoc"))
	})
	if eoc.err != nil {
		t.Fatal(eoc.err)
	}
	b := c.build(variant{name, text, mode}, func(output string) error {
		source := filepath.Join(filepath.Dir(output), name+".eo")
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			return err
		}
		args := []string{"build", source, "-o", output}
		if mode.Failpoints {
			args = append(args, "--failpoints")
		}
		if mode.Race {
			args = append(args, "--race")
		}
		cmd := exec.Command(eoc.path, args...)
		if mode.Secret != "" {
			cmd.Args, cmd.Env = append(cmd.Args, "--keep-source", Source(output)), append(os.Environ(), mode.Secret)
		}
		return run(cmd)
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// Source is the folder with the Go of a binary that was built with Mode.Secret.
func Source(binary string) string { return filepath.Join(filepath.Dir(binary), "source") }

func (c *Compiler) build(v variant, with func(output string) error) *binary {
	c.mu.Lock()
	if c.built == nil {
		c.built = map[variant]*binary{}
	}
	b := c.built[v]
	if b == nil {
		b = new(binary)
		c.built[v] = b
	}
	var err error
	if c.dir == "" {
		c.dir, err = os.MkdirTemp("", "eoc-programs-")
	}
	number := len(c.built)
	c.mu.Unlock()
	b.once.Do(func() {
		folder := filepath.Join(c.dir, fmt.Sprint(number))
		if err == nil {
			err = os.Mkdir(folder, 0o755)
		}
		b.path = filepath.Join(folder, v.name)
		if b.err = err; b.err == nil {
			b.err = with(b.path)
		}
	})
	return b
}

// Close removes the binaries.
func (c *Compiler) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir != "" {
		_ = os.RemoveAll(c.dir) // what is left in the system's temporary folder does no harm
	}
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	return nil
}
