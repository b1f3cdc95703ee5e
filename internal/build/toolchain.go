package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"strings"
)

// installGo tells where Go comes from.
const installGo = "install Go %s or newer from https://go.dev/dl and put its bin folder on PATH"

// toolchain is the go command of this machine.
type toolchain struct {
	path    string
	version string // go1.26.0
	system  string // GOOS/GOARCH of the binary
	ending  string // of programs on that system: "" or ".exe"
	cc      string // the C compiler that cgo would use, perhaps with flags
}

// findToolchain finds the go command, and refuses one that is older than goMod asks for.
func findToolchain(ctx context.Context, goMod []byte) (toolchain, error) {
	want := goDirective(goMod)
	path, err := exec.LookPath("go")
	if err != nil {
		return toolchain{}, &EnvironmentError{
			What: "the go command was not found: eoc compiles pipelines with Go",
			Help: fmt.Sprintf(installGo, want),
		}
	}
	t := toolchain{path: path}
	// Outside of module mode go asks no go.mod for a newer version of itself.
	cmd := exec.CommandContext(ctx, path, "env", "-json", "GOVERSION", "GOOS", "GOARCH", "GOEXE", "CC")
	cmd.Env = append(os.Environ(), "GO111MODULE=off", "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return toolchain{}, ctx.Err()
	}
	var values struct{ GOVERSION, GOOS, GOARCH, GOEXE, CC string }
	if err == nil {
		err = json.Unmarshal(out, &values)
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			err = errors.New(string(bytes.TrimSpace(exit.Stderr)))
		}
		return toolchain{}, &EnvironmentError{What: path + " cannot say its version", Err: err, Help: fmt.Sprintf(installGo, want)}
	}
	t.version, t.system, t.ending, t.cc = values.GOVERSION, values.GOOS+"/"+values.GOARCH, values.GOEXE, values.CC
	if older(t.version, want) {
		return toolchain{}, &EnvironmentError{
			What: fmt.Sprintf("%s is %s, but eoc needs Go %s or newer", path, t.version, want),
			Help: fmt.Sprintf(installGo, want),
		}
	}
	return t, nil
}

// checkRace refuses --race on a machine without a C compiler, which cgo would miss only after minutes.
func (t toolchain) checkRace() error {
	command, _, _ := strings.Cut(t.cc, " ")
	if _, err := exec.LookPath(command); err != nil {
		return &EnvironmentError{What: "--race needs a C compiler", Err: err, Help: "install gcc, or build without --race"}
	}
	return nil
}

// older says whether a version such as "go1.26.1" or "devel go1.27-0abc…" is older than want, such as "1.26.0".
func older(have, want string) bool {
	for word := range strings.FieldsSeq(have) {
		if word = strings.SplitN(word, "-", 2)[0]; version.IsValid(word) {
			return version.Compare(word, "go"+want) < 0
		}
	}
	return false
}

// goDirective is the version in the go line of a go.mod.
func goDirective(goMod []byte) string {
	for line := range strings.Lines(string(goMod)) {
		if v, ok := strings.CutPrefix(line, "go "); ok {
			return strings.TrimSpace(v)
		}
	}
	return "1"
}

// environment is that of the go command: what the user set for other builds must not change ours. GOOS,
// GOARCH, GOPROXY, caches and the like are left as they are.
func (t toolchain) environment(dir string, cgo bool) []string {
	env := append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GO111MODULE=on", "GOTOOLCHAIN=local", "PWD="+dir)
	if cgo {
		return append(env, "CGO_ENABLED=1")
	}
	return append(env, "CGO_ENABLED=0")
}
