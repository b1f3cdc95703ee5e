package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/internal/build"
	"github.com/eoc-lang/eoc/internal/crashtest"
	"github.com/eoc-lang/eoc/internal/dev"
	"github.com/eoc-lang/eoc/runtime/terminal"
)

// testFlags are the flags of `eoc test`.
type testFlags struct {
	crash, json  bool
	data, at     string
	only         bool // at was given
	key, time    []string
	partitions   int32
	transactions []int
	parallelism  []int
	moments      int
	seed         uint64
}

func newTest(io streams) *cobra.Command {
	var flags testFlags
	cmd := &cobra.Command{
		Use:   "test --crash [FILE]",
		Short: "Kill the program of a .eo file again and again, and compare its results",
		Long: `Kill the program of a .eo file while it reads sample data, at every crash point, twice, and at random moments. After each
run, what readers of committed records see is compared, record by record, with a run without a crash and with an
interpreter of the plan: nothing may be missing, nothing may come twice, no transaction may stay open.

The data is that of eoc dev: DIR/TOPIC.jsonl, whose lines are the records. DIR is data/NAME for NAME.eo, else data,
beside the file; data that is too short is fed several times. The broker is a part of eoc, for trying only. Without
FILE it is the only .eo file here.

A run that fails is shown with the first records that differ, the command that repeats just that run, and the folder
with its logs and state.`,
		Example: `  eoc test --crash orders.eo
  eoc test --crash --data more --key orders=user_id orders.eo
  eoc test --crash --transactions 2 --parallelism 3 --at after-store:2,startup-before-end-txn:1 orders.eo`,
		Annotations:       exits("0  passed", "1  the .eo file has errors, its data stops it, or a run failed", saysUsage, saysBug),
		Args:              devArguments,
		ValidArgsFunction: completeFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				flags.seed = rand.Uint64()
			}
			flags.only = cmd.Flags().Changed("at")
			return testCrashes(cmd.Context(), flags, args, io)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.crash, "crash", false, "kill the program (there is no other test yet, so it has to be said)")
	f.StringVar(&flags.data, "data", "", "folder `DIR` of the sample data")
	f.StringArrayVar(&flags.key, "key", nil, "take keys of records from `[TOPIC=]FIELD` of their JSON (default no key)")
	f.StringArrayVar(&flags.time, "time", nil, "take their Kafka timestamps from `[TOPIC=]FIELD` (default the field of the event time, else now)")
	f.Int32Var(&flags.partitions, "partitions", 3, "`NUMBER` of partitions of each topic")
	f.IntSliceVar(&flags.transactions, "transactions", []int{1, 2}, "`VERSIONS` of Kafka's transactions")
	f.IntSliceVar(&flags.parallelism, "parallelism", []int{1, 3}, "`NUMBERS` of tasks that work side by side")
	f.IntVar(&flags.moments, "random", 5, "`NUMBER` of runs with kills at random moments, for each version and parallelism")
	f.Uint64Var(&flags.seed, "seed", 0, "`NUMBER` that everything random comes from (default another one each time)")
	f.StringVar(&flags.at, "at", "", "die only so, once for each version and parallelism: at `POINT[:PASS]`, after kill:DURATION, or abort, with commas between; none: no crash")
	f.BoolVar(&flags.json, "json", false, "print the report as JSON")
	complete(cmd, "data", completeFolders)
	return cmd
}

// options makes the options of a test, without what compiling gives.
func (f testFlags) options(args []string, io streams) (o crashtest.Options, err error) {
	if !f.crash {
		return o, errors.New("eoc test wants --crash: it kills the program and compares its results.\n" +
			"To see results use `eoc dev --until-end`; to test them, rttest runs a pipeline in a unit test (`eoc generate`)")
	}
	if runtime.GOOS == "windows" {
		return o, errors.New("eoc test --crash needs a Unix: programs cannot kill themselves with a signal here")
	}
	var d dev.Options
	if err := (devFlags{command: "eoc test --crash", data: f.data, key: f.key, time: f.time, partitions: f.partitions}).set(&d, args, io); err != nil {
		return o, err
	}
	if f.moments < 0 {
		return o, unexpected("random", strconv.Itoa(f.moments))
	}
	if err := among("transactions", f.transactions, 1, 2); err != nil {
		return o, err
	}
	if err := among("parallelism", f.parallelism, 1, mostPartitions); err != nil {
		return o, err
	}
	o = crashtest.Options{
		File: d.File, Data: d.Data, Key: d.Key, Time: d.Time, Partitions: d.Partitions,
		Transactions: f.transactions, Parallelism: f.parallelism, Seed: f.seed, Moments: f.moments,
		Repeat: f.repeat(d.File), Err: io.err, Terminal: terminal.Is(io.err),
	}
	if f.only {
		if o.Only, err = crashtest.ParseSchedule(f.at); err != nil {
			return o, fmt.Errorf("--at: %w", err)
		}
	}
	return o, nil
}

// among checks a list of numbers.
func among(flag string, list []int, least, most int) error {
	for i, n := range list {
		if n < least || n > most || slices.Contains(list[:i], n) {
			return unexpected(flag, strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]"))
		}
	}
	return nil
}

// repeat is the command that runs this test again, without what makes it one run.
func (f testFlags) repeat(file string) string {
	words := []string{"eoc", "test", "--crash", quote(file)}
	if f.data != "" {
		words = append(words, "--data", quote(f.data))
	}
	for _, key := range f.key {
		words = append(words, "--key", quote(key))
	}
	for _, at := range f.time {
		words = append(words, "--time", quote(at))
	}
	if f.partitions != 3 {
		words = append(words, "--partitions", fmt.Sprint(f.partitions))
	}
	return strings.Join(words, " ")
}

// quote makes text one word of a shell.
func quote(text string) string {
	plain := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-/=:,@+%", r))
	}
	if text != "" && strings.IndexFunc(text, plain) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// testCrashes compiles the file and runs the test.
func testCrashes(ctx context.Context, f testFlags, args []string, io streams) error {
	o, err := f.options(args, io)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Command = []string{self}
	r, graph, err := newRequest(ctx, o.File, crashtest.Adapt, io)
	if err != nil {
		return err
	}
	r.Failpoints = true
	o.Graph = graph
	if o.Binary, err = build.Cached(ctx, r); err != nil {
		return err
	}
	report, err := crashtest.Run(ctx, o)
	var stop crashtest.StopError
	if errors.As(err, &stop) {
		fmt.Fprintf(io.err, "eoc: %v\n", stop)
		return errFaulty
	}
	return f.tell(report, err, io)
}

// tell prints a report, which is nil if there is none, and returns how the command ends: err is what has ended the test early.
func (f testFlags) tell(report *crashtest.Report, err error, io streams) error {
	if report == nil {
		return err
	}
	if f.json {
		err = errors.Join(err, report.WriteJSON(io.out))
	} else {
		err = errors.Join(err, report.Write(io.out, painter(terminal.Coloured(io.out, os.LookupEnv))))
	}
	switch {
	case err != nil:
		return err
	case !report.Passed():
		return errFaulty
	case !report.Tested():
		return errors.New("the program did not die in any run, so nothing was tested; the report says why")
	}
	return nil
}

// painter colours good and bad texts, if colours are wanted.
func painter(colour bool) func(text string, good bool) string {
	return func(text string, good bool) string {
		const green, red, plain = "\x1b[32m", "\x1b[31m", "\x1b[0m"
		switch {
		case !colour:
			return text
		case good:
			return green + text + plain
		}
		return red + text + plain
	}
}
