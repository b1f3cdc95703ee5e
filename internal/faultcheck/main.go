// Command faultcheck runs go test, prints what it says as go test does by itself, and then holds docs/faults.md against it: each test
// that the table of faults names has to be there and to have run. For `make test`:
//
//	go run ./internal/faultcheck go test -race ./...
//
// It fails if go test does, or the table.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
)

// page is the table of faults, from the repository's root, where faultcheck is run.
const page = "docs/faults.md"

func main() {
	strict := os.Getenv("EO_REQUIRE_KAFKA") == "1"
	os.Exit(run(".", os.Args[1:], strict, os.Stdout, os.Stderr))
}

// run runs a command, such as go test -race ./..., in the folder of a repository and returns the exit code. strict: a test that was
// skipped for want of a Kafka has not run.
func run(root string, command []string, strict bool, out, errs io.Writer) int {
	at := slices.Index(command, "test")
	if at < 1 {
		fmt.Fprintln(errs, "faultcheck: expected a command, such as: faultcheck go test ./...")
		return 2
	}
	t, err := readTable(root)
	if err == nil {
		err = t.static(root) // before minutes are spent
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	cmd := exec.Command(command[0], slices.Insert(slices.Clone(command[1:]), at, "-json")...)
	cmd.Dir, cmd.Stderr = root, errs
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(errs, "faultcheck:", err)
		return 1
	}
	ran, err := render(events, out)
	ended := cmd.Wait()
	code := 0
	for _, err := range []error{err, ended, t.check(ran, strict, out)} {
		if err != nil {
			fmt.Fprintln(errs, err)
			code = 1
		}
	}
	if exit := (*exec.ExitError)(nil); errors.As(ended, &exit) && exit.ExitCode() > 0 {
		code = exit.ExitCode()
	}
	return code
}
