package runtime

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/doctor"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/memory"
	"github.com/eoc-lang/eoc/runtime/internal/observe"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
)

// Main runs a pipeline until it is stopped, its bounded input ends or it fails, and ends the process with the
// code of what ended it; --help lists the codes. SIGTERM and SIGINT stop it: it takes a final checkpoint,
// commits it and exits with 0. A second signal ends it at once, which is as safe as any crash.
func Main(p Pipeline) {
	os.Exit(int(run(p, os.Args[1:], os.LookupEnv)))
}

// gcPercent lets the heap grow to three times of what is live before it is collected. State tables hold no
// pointers, so what the collector costs comes from fetches and output; collecting less often is worth the memory.
const gcPercent = 200

// exitMissed is the exit code of a test build whose crash point was never reached.
const exitMissed = 70

func run(p Pipeline, args []string, env settings.Env) failure.Kind {
	set, spec, err := p.resolve(env, func(d settings.Defaults) (settings.Settings, error) {
		set, err := settings.Parse(args, env, d)
		set.Misspelt = settings.Misspellings(os.Environ(), d)
		return set, err
	})
	if err == nil && set.Answer == "" {
		err = checkFailpoints(env)
	}
	if err != nil && set.Verb == settings.Doctor {
		return report(p, doctor.Misset(p.Name, p.File, err), set)
	}
	if err != nil {
		return refused(p, set, err)
	}
	if set.Answer != "" {
		if _, err := io.WriteString(standardOutput{}, set.Answer); err != nil {
			return refused(p, set, err)
		}
		return 0
	}
	if set.Verb != settings.Run {
		return answer(p, set, spec)
	}
	if _, given := env("GOGC"); !given {
		debug.SetGCPercent(gcPercent)
	}
	guard := memory.New(memory.Limit(env))
	stderr, screen := standardError(set, env)
	log := set.Logger(stderr).With("pipeline", spec.Name)
	for _, m := range set.Misspelt {
		log.Warn("an environment variable means nothing to this program", "variable", m.Name, "perhaps_meant", m.Meant)
	}
	if err := operate(stopSignal(log, screen), set, spec, view{graph: p.Graph, screen: screen}, guard, log); err != nil {
		code := KindOf(err)
		log.Error("ended", "error", err, "code", int(code))
		return code
	}
	if missed := failpoint.Missed(); len(missed) > 0 {
		log.Error("a crash point was not reached", "points", missed)
		return exitMissed
	}
	return 0
}

// checkFailpoints refuses a plan of crashes for a program that cannot carry it out.
func checkFailpoints(env settings.Env) error {
	if _, given := env(failpoint.Env); given && !failpoint.Enabled {
		return failure.New(failure.Usage, "build the program with `eoc build --failpoints`", nil, "%s is set, but this program has no crash points", failpoint.Env)
	}
	return nil
}

// signalEcho is how soon after the first signal another one is taken for the same: who signals a whole process
// group, as timeout(1) does, and then the process, means it once.
const signalEcho = 500 * time.Millisecond

// stopSignal is closed at the first SIGTERM or SIGINT. The second ends the process, and takes what stands on the screen away.
func stopSignal(log *slog.Logger, screen *observe.Screen) <-chan struct{} {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	stop := make(chan struct{})
	go func() {
		s := <-signals
		first := time.Now()
		log.Info("asked to stop", "signal", s.String(), "deadline", engine.StopDeadline.String())
		close(stop)
		for <-signals; time.Since(first) < signalEcho; <-signals {
		}
		if screen != nil {
			screen.Leave()
		}
		log.Warn("ended at once by a second signal; the next start goes on from the last checkpoint")
		os.Exit(int(failure.Deadline))
	}()
	return stop
}
