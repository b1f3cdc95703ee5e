package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eoc-lang/eoc/internal/build"
	"github.com/eoc-lang/eoc/internal/dev"
	"github.com/eoc-lang/eoc/runtime/terminal"
)

// devFlags are the flags of `eoc dev` that are not dev's options as they are.
type devFlags struct {
	command    string // to which they are given
	data, rate string
	key, time  []string
	partitions int32
}

func newDev(io streams) *cobra.Command {
	flags := devFlags{command: "eoc dev"}
	var o dev.Options
	cmd := &cobra.Command{
		Use:   "dev [FILE] [-- ARGUMENT...]",
		Short: "Run a .eo file with a broker and sample data of its own, again after each edit",
		Long: `Run a .eo file on this machine, without Kafka: with an embedded broker, which is for trying only, and with sample
data, one file for each topic: DIR/TOPIC.jsonl, whose lines are the records. DIR is data/NAME for NAME.eo, else data,
beside the file. Without FILE it is the only .eo file here. Arguments behind -- go to the program.

Results are shown as they are committed, late records and dead letters marked, and at the end what became of all
records. On a terminal they come in columns; else a line has kind (result, late, dead), topic, key and value, with
tabs between them, and a dead letter its reason. All else goes to standard error, and what on_error skip drops among it.

When FILE is saved, it is compiled and goes on from its state. If an edit changes what the state means, the program
says so and stops; then undo the edit, or start over. With errors in it, the program from before runs on.

Standard input takes lines: r starts over with empty topics, q ends, and TOPIC {json} feeds a record; at a terminal
Enter alone starts over, too. Ctrl-C ends, the end of standard input does not; nothing is left behind.`,
		Example: `  eoc dev
  eoc dev orders.eo --rate 10/s --ui
  eoc dev orders.eo --until-end > results.txt`,
		Annotations: exits("0  ended, or all is read with --until-end", "1  the .eo file has errors at the beginning; with --until-end, also: a record at fault has stopped the program",
			saysUsage, saysBug, "4 and more  with --until-end, that of the program: its --help lists them"),
		Args:              devArguments,
		ValidArgsFunction: completeFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				args, o.Arguments = args[:n], args[n:]
			}
			if err := devOwns(o.Arguments); err != nil {
				return err
			}
			if err := flags.set(&o, args, io); err != nil {
				return err
			}
			return develop(cmd.Context(), o, io)
		},
	}
	cmd.Flags().StringVar(&flags.data, "data", "", "folder `DIR` of the sample data")
	cmd.Flags().StringVar(&flags.rate, "rate", "", "feed each topic at a rate `N/s`, or N/m, instead of all at once")
	cmd.Flags().StringArrayVar(&flags.key, "key", nil, "take keys of records from `[TOPIC=]FIELD` of their JSON (default no key)")
	cmd.Flags().StringArrayVar(&flags.time, "time", nil, "take their Kafka timestamps from `[TOPIC=]FIELD` (default the field of the event time, else now)")
	cmd.Flags().Int32Var(&flags.partitions, "partitions", 1, "`NUMBER` of partitions of each topic")
	cmd.Flags().BoolVar(&o.UntilEnd, "until-end", false, "close all windows where the data ends, show the results, and end")
	cmd.Flags().BoolVar(&o.Fresh, "fresh", false, "start over after each edit, with empty topics and the data from its beginning")
	cmd.Flags().BoolVar(&o.Page, "ui", false, "serve a page about the running pipeline, whose address is said (-- --http HOST:PORT chooses it)")
	cmd.Flags().StringVar(&o.Keep, "keep", "", "keep the program's state and log in the folder `DIR`")
	complete(cmd, "data", completeFolders)
	complete(cmd, "keep", completeFolders)
	return cmd
}

func devArguments(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args = args[:dash]
	}
	return wantFiles(cmd, args, len(args) <= 1, "one FILE at most")
}

// devOwns refuses arguments of the program that would take it away from the broker and the state that are gone at the end.
func devOwns(arguments []string) error {
	for _, a := range arguments {
		switch name, _, _ := strings.Cut(a, "="); name {
		case "--brokers", "--state", "--tls", "--sasl-mechanism":
			return fmt.Errorf("%s behind --: eoc dev has a broker and a state of its own; `eoc run` takes others", name)
		case "--help", "-h", "--version":
			return fmt.Errorf("%s behind --: `eoc run FILE %s` shows that of the program", name, name)
		case "--fresh":
			return fmt.Errorf("%s behind --: eoc dev begins with nothing; its own --fresh does so after each edit, too", name)
		}
	}
	return nil
}

// set completes the options.
func (f devFlags) set(o *dev.Options, args []string, io streams) (err error) {
	if len(args) == 1 {
		o.File = args[0]
	} else if o.File, err = onlyFile(f.command); err != nil {
		return err
	}
	if o.File == "-" {
		return errStdin
	}
	if o.Data = f.data; o.Data == "" {
		o.Data = dev.DataDir(o.File)
	} else if info, err := os.Stat(o.Data); err != nil || !info.IsDir() {
		return fmt.Errorf("--data is %s, which is no folder", o.Data)
	}
	if o.Rate, err = parseRate(f.rate); err != nil {
		return err
	}
	if o.Rate > 0 && o.UntilEnd {
		return errors.New("--until-end reads what is fed before the program starts; leave --rate out")
	}
	if o.Partitions = f.partitions; o.Partitions < 1 || o.Partitions > mostPartitions {
		return unexpected("partitions", strconv.Itoa(int(o.Partitions)))
	}
	if o.Key, err = byTopic("--key", f.key); err != nil {
		return err
	}
	if o.Time, err = byTopic("--time", f.time); err != nil {
		return err
	}
	o.In, o.Terminal = io.in, terminal.Is(io.in)
	o.Out, o.Err, o.Columns, o.Colour = io.out, io.err, terminal.Is(io.out), terminal.Coloured(io.out, os.LookupEnv)
	return nil
}

// mostPartitions is far beyond what trying things needs.
const mostPartitions = 128

// onlyFile is the .eo file of this folder, for a command that may be given one.
func onlyFile(command string) (string, error) {
	list, err := filepath.Glob("*.eo")
	switch {
	case err != nil:
		return "", err
	case len(list) == 0:
		return "", errors.New("there is no .eo file here; `eoc init` writes a first one")
	case len(list) > 1:
		text := "there are several .eo files here; name one of them:"
		for _, file := range list {
			text += "\n  " + command + " " + quote(file)
		}
		return "", errors.New(text)
	}
	return list[0], nil
}

// parseRate reads 100/s, 30/m or 100, as records a second; "" is 0.
func parseRate(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	per := map[string]float64{"": 1, "s": 1, "m": 60}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || per == 0 || !(n >= 0.001 && n <= 1e6) {
		return 0, fmt.Errorf("--rate is %q; expected a number of records a second or a minute, such as 10/s or 30/m", text)
	}
	return n / per, nil
}

// byTopic reads TOPIC=FIELD, or FIELD for all topics, one for each.
func byTopic(flag string, list []string) (map[string]string, error) {
	fields := map[string]string{}
	for _, text := range list {
		topic, field, ok := strings.Cut(text, "=")
		if !ok {
			topic, field = "", text
		}
		switch had := fields[topic]; {
		case field == "" || ok && topic == "":
			return nil, fmt.Errorf("%s is %q; expected FIELD, or TOPIC=FIELD", flag, text)
		case had != "" && had != field && topic == "":
			return nil, fmt.Errorf("%s names two fields, %s and %s; expected one, or one for each topic, TOPIC=FIELD", flag, had, field)
		case had != "" && had != field:
			return nil, fmt.Errorf("%s names two fields of topic %s, %s and %s; expected one", flag, topic, had, field)
		}
		fields[topic] = field
	}
	return fields, nil
}

// develop runs the file until it is enough.
func develop(ctx context.Context, o dev.Options, io streams) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Command = []string{self}
	o.Compile = func(ctx context.Context) (dev.Program, error) {
		r, graph, err := newRequest(ctx, o.File, dev.Adapt, io)
		if errors.Is(err, errFaulty) {
			return dev.Program{}, dev.ErrFaulty
		}
		if err != nil {
			return dev.Program{}, err
		}
		binary, err := build.Cached(ctx, r)
		return dev.Program{Path: binary, Graph: graph}, err
	}
	o.Explain = func(err error) string {
		var text strings.Builder
		exitCode(ctx, err, streams{err: &text})
		return strings.TrimSpace(text.String())
	}
	err = dev.Run(ctx, o)
	var exit dev.ExitError
	switch {
	case errors.Is(err, dev.ErrFaulty):
		return errFaulty
	case errors.As(err, &exit):
		return programError(devCode(exit.Code))
	}
	return err
}

// devCode is the exit code for that of the program, such that each means what it means of eoc: a bug is 3, and 1 is what eoc test says of data
// that stops a pipeline. A wrong flag is 2 for both.
func devCode(program int) int {
	switch program {
	case 1:
		return exitBug
	case 3:
		return exitFaulty
	}
	return program
}

func newGuard(io streams) *cobra.Command {
	return &cobra.Command{
		Use:                dev.GuardVerb,
		Short:              "Run a program until standard input ends",
		Hidden:             true,
		DisableFlagParsing: true,
		Args:               cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			code, err := dev.Guard(io.in, io.out, io.err, args)
			if err == nil && code != 0 {
				err = programError(code)
			}
			return err
		},
	}
}
