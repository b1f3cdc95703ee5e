package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

// stopLimit is how long the program may take for its last checkpoint: its own deadline, and a little more.
const stopLimit = 30 * time.Second

// process is the program at work, under a guard.
type process struct {
	stdin  io.Closer
	ask    io.Writer
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has ended; then the rest is set
	code   int
	counts counts // of all records; empty if it has not stopped well
	called atomic.Pointer[string]
	err    error // of the guard
}

// startProcess starts a command, which is a guard's. The program's log goes to the file, and what matters to people to the screen;
// page is the path of what they want to see of the program, if it shows itself. running, unless "", is said when it runs.
func startProcess(command []string, log, page, running string, s *screen) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = slices.DeleteFunc(os.Environ(), elsewhere)
	devkafka.OwnGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the program: %w", err), file.Close())
	}
	p := &process{stdin: stdin, ask: stdin, cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.read(io.TeeReader(stderr, file), page, running, s)
		p.err = errors.Join(cmd.Wait(), file.Close())
		var exit *exec.ExitError
		if p.code = cmd.ProcessState.ExitCode(); errors.As(p.err, &exit) && p.code > 0 {
			p.err = nil // a code is an answer
		}
	}()
	return p, nil
}

// elsewhere says whether a variable of the environment is about another cluster, or another run.
func elsewhere(variable string) bool {
	for _, prefix := range []string{"EO_TLS", "EO_SASL", "EO_UNTIL", "EO_NAME"} {
		if strings.HasPrefix(variable, prefix) {
			return true
		}
	}
	return false
}

// read reads the log to its end.
func (p *process) read(r io.Reader, page, running string, s *screen) {
	shown := ""
	for text, err := range devkafka.Lines(r) {
		var long devkafka.LongError
		if errors.As(err, &long) {
			s.say("line %d of the program's log is not looked at: it has %d bytes", long.Line, long.Bytes)
			continue
		}
		if err != nil {
			s.say("the program's log: %v", err)
			return
		}
		var entry map[string]any
		if json.Unmarshal(text, &entry) != nil {
			s.say("%s", text) // wrong flags, or a crash
			continue
		}
		if name, ok := entry["pipeline"].(string); ok {
			p.called.Store(&name)
		}
		switch entry["level"] {
		case "WARN", "ERROR":
			s.say("%s", s.places.addTo(warning(entry)))
			continue
		}
		if operator, ok := entry["operator"].(string); ok && strings.HasPrefix(fmt.Sprint(entry["msg"]), "on_error has skipped") {
			s.say("%s", s.places.addTo(skipped(operator, entry)))
		}
		if address, ok := entry["http"].(string); ok {
			shown = fmt.Sprintf("the program shows itself at %s", address+page)
		}
		if entry["msg"] == "running" { // not before: a program that cannot keep its state has shown itself, too
			for _, text := range []string{running, shown} {
				if text != "" {
					s.say("%s", text)
				}
			}
			running, shown = "", ""
		}
		if counts, ok := entry["counts"].(map[string]any); ok {
			p.counts = tally(counts)
		}
	}
}

// name is the pipeline's, which a flag may change; "" before the program has said it.
func (p *process) name() string {
	if name := p.called.Load(); name != nil {
		return *name
	}
	return ""
}

// stop asks the program for a last checkpoint and waits for its end. If that takes too long, the program is killed.
func (p *process) stop() (killed bool, err error) {
	io.WriteString(p.ask, stopLine+"\n") // fails if it has ended
	timeout := time.NewTimer(stopLimit)
	defer timeout.Stop()
	select {
	case <-p.ended:
	case <-timeout.C:
		killed = true
	}
	p.stdin.Close() // the guard kills what still runs
	<-p.ended
	return killed, p.err
}

// warning is a log entry as a line: the message, then what belongs to it.
func warning(entry map[string]any) string {
	message, _ := entry["msg"].(string)
	text := "the program: " + message
	if cause, ok := entry["error"].(string); ok {
		if text += ": " + cause; message == "ended" {
			text = "the program: " + inDev(entry, cause)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entry)) {
		switch name {
		case "time", "level", "msg", "error", "pipeline", "code":
		default:
			text += fmt.Sprintf(", %s %v", name, plainNumber(entry[name]))
		}
	}
	return text
}

// plainNumber is a value with all its digits if it is a number: an offset is not 1e+06.
func plainNumber(value any) any {
	if number, ok := value.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return value
}

// skipped is what on_error skip has dropped: where, what and why, as dead letters have it. It is no record of a topic, and so no result.
func skipped(operator string, entry map[string]any) string {
	what := fmt.Sprintf("record of topic %v, partition %v, offset %v", entry["topic"], plainNumber(entry["partition"]), plainNumber(entry["offset"]))
	if entry["topic"] == nil {
		what = fmt.Sprintf("result of window [%v, %v)", entry["window_start"], entry["window_end"])
	}
	text := fmt.Sprintf("skipped: %s (%v): %s: %v", operator, entry["place"], what, entry["reason"])
	if entry["others"] != nil {
		text += fmt.Sprintf("; others of %s are only counted", operator)
	}
	return text
}

// lookAtIt is a command of runtime.Batch's.
var lookAtIt = regexp.MustCompile("look at it with `[^`]*`; ")

// inDev leaves out how to look at a record in a topic, since its line is named and the broker may be gone; where a state that does not fit lies;
// and what to do about that in earnest: here advice says that.
func inDev(entry map[string]any, cause string) string {
	if entry["code"] == float64(codeBadRecord) {
		return lookAtIt.ReplaceAllString(cause, "")
	}
	if entry["code"] != float64(codeState) {
		return cause
	}
	cause, _, _ = strings.Cut(cause, "; undo the change")
	if what, where, ok := strings.Cut(cause, " since the state in "); ok {
		_, changes, _ := strings.Cut(where, " was made: ")
		cause = what + " since its state was made: " + changes
	}
	return cause
}

// counts say what became of all records.
type counts struct {
	lines    []string // one for each operator
	rejected int      // records and results that on_error has had
}

// tally sums up counts such as "user_totals/window late orders/0" over partitions.
func tally(of map[string]any) (all counts) {
	sums := map[string]map[string]int64{}
	width := 0
	for name, n := range of {
		words := strings.Fields(name)
		number, ok := n.(float64)
		if len(words) < 2 || !ok {
			continue
		}
		if sums[words[0]] == nil {
			sums[words[0]] = map[string]int64{}
		}
		sums[words[0]][words[1]] += int64(number)
		if words[1] == "rejected" {
			all.rejected += int(number)
		}
		width = max(width, len(words[0]))
	}
	for _, operator := range slices.Sorted(maps.Keys(sums)) {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(sums[operator])) {
			if n := sums[operator][name]; n > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", name, n))
			}
		}
		if parts != nil {
			all.lines = append(all.lines, fmt.Sprintf("%-*s  %s", width, operator, strings.Join(parts, ", ")))
		}
	}
	return all
}
