// Command faultcheck runs go test, once or several times, prints what it says as go test does by itself, and then holds docs/faults.md against it: each test
// that the table of faults names has to be there and to have run in one of them. For `make test`:
//
//	go run ./internal/faultcheck go test -race ./runtime/... -- go test ./internal/e2e
//
// It fails if a go test does, or the table. One that fails does not keep the others from running.
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
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

// run runs commands with "--" between, such as go test -race ./..., in the folder of a repository and returns the exit code. strict: a test that was
// skipped for want of a Kafka has not run.
func run(root string, args []string, strict bool, out, errs io.Writer) int {
	commands := commandsOf(args)
	for _, c := range commands {
		if slices.Index(c, "test") < 1 {
			fmt.Fprintln(errs, "faultcheck: expected a command, such as: faultcheck go test ./...")
			return 2
		}
	}
	t, err := readTable(root)
	if err == nil {
		err = t.static(root) // before minutes are spent
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	code := 0
	ran := map[test]result{}
	for _, c := range commands {
		if err := goTest(root, c, ran, out, errs); err != nil {
			fmt.Fprintln(errs, err)
			code = max(code, 1)
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = max(code, exit.ExitCode())
			}
		}
	}
	if err := t.check(ran, strict, out); err != nil {
		fmt.Fprintln(errs, err)
		code = max(code, 1)
	}
	return code
}

// commandsOf cuts arguments at "--".
func commandsOf(args []string) [][]string {
	i := slices.Index(args, "--")
	if i < 0 {
		return [][]string{args}
	}
	return append([][]string{args[:i]}, commandsOf(args[i+1:])...)
}

// goTest runs a go test, prints what it says, and notes which tests have run.
func goTest(root string, command []string, ran map[test]result, out, errs io.Writer) error {
	cmd := exec.Command(command[0], slices.Insert(slices.Clone(command[1:]), slices.Index(command, "test"), "-json")...)
	cmd.Dir, cmd.Stderr = root, errs
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	some, err := render(events, out)
	maps.Copy(ran, some)
	return errors.Join(err, cmd.Wait())
}
