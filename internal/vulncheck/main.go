// Command vulncheck runs govulncheck over packages: does this repository call anything of which a vulnerability is known? That is known by a database in the
// network. Where it cannot be reached, or does not answer in time, the command says so, loudly, and ends well; with EO_REQUIRE_VULN=1 it fails. Otherwise, whatever
// govulncheck finds or fails at is a failure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	reachLimit = 15 * time.Second // how long the database may take to say that it is there
	lookLimit  = 5 * time.Minute  // how long govulncheck may take, which asks the database much more
	endLimit   = 10 * time.Second // how long it may take to end when it is asked to
)

func main() {
	db := flag.String("db", "https://vuln.go.dev", "address of the database: http, https or file")
	flag.Parse()
	os.Exit(check(".", *db, flag.Args(), os.Getenv("EO_REQUIRE_VULN") == "1", lookLimit, os.Stderr))
}

// check looks at packages of the module in dir, within a limit, and returns the exit code.
func check(dir, db string, packages []string, required bool, limit time.Duration, out io.Writer) int {
	if err := reach(db); err != nil {
		return unknown(required, out, fmt.Errorf("the database of vulnerabilities cannot be reached: %w", err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"tool", "govulncheck", "-db", db}, packages...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // which go passes on to its tool
	cmd.WaitDelay = endLimit
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return unknown(required, out, fmt.Errorf("govulncheck did not end within %v: the database of vulnerabilities, or this machine, is too slow", limit))
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintf(out, "vulncheck: %v\n", err)
	return 1
}

// unknown says why nothing is known of vulnerabilities, and returns the exit code.
func unknown(required bool, out io.Writer, why error) int {
	if required {
		fmt.Fprintf(out, "vulncheck: nothing is known, and EO_REQUIRE_VULN=1 wants it: %v\n", why)
		return 1
	}
	fmt.Fprintf(out, "vulncheck: SKIPPED, nothing is known (EO_REQUIRE_VULN=1 makes that a failure): %v\n", why)
	return 0
}

// reach asks the database for what every one has.
func reach(db string) error {
	at, err := url.Parse(db)
	if err != nil {
		return err
	}
	if at.Scheme == "file" {
		_, err := os.Stat(filepath.Join(filepath.FromSlash(at.Path), "index", "modules.json"))
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), reachLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath("index", "db.json").String(), nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", req.URL, answer.Status)
	}
	return nil
}
