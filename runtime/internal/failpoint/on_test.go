//go:build eo_failpoints

package failpoint

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestMain is the program under test when it is started by one of the tests below: it passes a point three times.
func TestMain(m *testing.M) {
	if os.Getenv("FAILPOINT_CHILD") == "" {
		os.Exit(m.Run())
	}
	for range 3 {
		Hit(BeforeStore)
		os.Stdout.WriteString("passed\n")
	}
	Hit(AfterStore)
	os.Stdout.WriteString(strings.Join(Missed(), "\n"))
}

func child(t *testing.T, plan string) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", Env+"="+plan)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestKill(t *testing.T) {
	for plan, want := range map[string]string{
		"before-store:1":                "",
		"before-store:2":                "passed\n",
		"before-store:4, after-store:1": "passed\npassed\npassed\n",
	} {
		out, err := child(t, plan)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("%s: ended with %v, want SIGKILL", plan, err)
		}
		if out != want {
			t.Errorf("%s: printed %q, want %q", plan, out, want)
		}
	}
}

// TestStop stops a program at a point: nothing behind it happens until the program is woken up.
func TestStop(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", Env+"=before-store:2:stop")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var passed bytes.Buffer
	cmd.Stdout = &passed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if want := Env + ": stopped at before-store\n"; err != nil || line != want {
		t.Errorf("it said %q (%v), want %q", line, err, want)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || status.StopSignal() != syscall.SIGSTOP {
		t.Errorf("the process: status %#x (%v), want it stopped by SIGSTOP", status, err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got, want := passed.String(), strings.Repeat("passed\n", 3); got != want {
		t.Errorf("after it was woken up it had printed %q, want %q", got, want)
	}
}

func TestMissed(t *testing.T) {
	out, err := child(t, "before-store:5,during-restore:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before-store:5 (passed 3 times)", "during-restore:1 (passed 0 times)"} {
		if !strings.Contains(out, want) {
			t.Errorf("printed %q, want %q", out, want)
		}
	}
}

func TestBadPlan(t *testing.T) {
	for _, plan := range []string{"nowhere:1", "before-store", "before-store:0", "before-store:x", "before-store:1,", "before-store:1:", "before-store:1:pause"} {
		out, err := child(t, plan)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%s: ended with %v, want exit code 2", plan, err)
		}
		if plan == "nowhere:1" && !strings.Contains(out, string(DuringRestore)) {
			t.Errorf("the points are not listed: %s", out)
		}
	}
}
