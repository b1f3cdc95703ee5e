package runtime

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/memory"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// Config is how a pipeline is run within another program. The zero Config is of use: a field that is zero means
// what the .eo file says or, where the file has no say, the default that stands here. The rules for
// values are those of the flags of a program that `eoc build` makes.
type Config struct {
	// Brokers of the Kafka cluster to ask first, as host:port or host; localhost:9092 if there are none. Like Connection
	// they do not hold for a source that the file gives brokers of its own.
	Brokers []string
	// Connection is how to connect to them: TLS, and who the pipeline says it is. It takes the place of all that the file says of it;
	// nil: as the file says. Files and secrets are read for each connection, and Getenv gives the secrets.
	Connection *Connection
	// StateDir is the directory of the checkpoints. It belongs to this pipeline alone: two pipelines in
	// one process need two. It has to be empty if the file says `store memory`.
	StateDir string
	// Name of the pipeline, of which consumer group and transactional ids are made: [a-z0-9._-]+.
	Name string
	// Parallelism is the number of tasks that read and of tasks that keep windows, 1 to 128. It may differ from run to run.
	Parallelism int
	// CheckpointInterval is the time from one checkpoint to the next, at least 10 ms. Results are
	// visible after it to who reads committed records.
	CheckpointInterval time.Duration
	// Until ends the pipeline for good where it says. The zero Until: never.
	Until Until
	// CreateTopics makes topics that are missing.
	CreateTopics bool
	// Fresh forgets the state and begins anew: earlier results stay in the topics and are made once more. It
	// counts for each call of Run, so it is for one.
	Fresh bool
	// AcceptLoss goes on although input is gone that was not read yet.
	AcceptLoss bool
	// Logger takes everything that Run has to say, each entry with the pipeline's name. nil: slog.Default().
	Logger *slog.Logger
	// Metrics gets the pipeline's metrics while Run runs, each with the label pipeline. It may be shared by several pipelines, and
	// with other things, such as prometheus.DefaultRegisterer. nil: there are none.
	Metrics prometheus.Registerer
	// Getenv looks up the variables that the file names with env("…"). nil: os.LookupEnv. Run reads no others.
	Getenv func(name string) (value string, ok bool)
}

// Until is where a bounded run ends: at what the partitions hold at the first start, or at the first record of each
// with a Kafka timestamp of at least Time.
type Until = settings.Until

// Run runs a pipeline until ctx is done, its bounded input has ended or something fails that trying again does not
// mend. Faults of the network and of brokers are mended: Run goes on from the last checkpoint, for ever, and says so in the log.
//
// When ctx is done, Run reads no more, takes a final checkpoint, commits the results and returns nil, within 25
// s; its next call goes on from there. If that is not possible in time, it returns an error of kind
// KindDeadline, and nothing is lost either. ctx's values and its deadline beyond that have no effect.
//
// An error is a sentence with what to do; KindOf tells its kind. A flag in it, such as --fresh, is the field of Config
// of that name. What was read and not committed is read again by the next call, so no error loses anything or
// doubles what an exactly_once sink shows to who reads committed records. KindDeadline is worth a new call; the other
// kinds want a person first.
//
// Several pipelines may run in one process, and beside programs that `eoc build` made. Each needs a Name
// of its own in its cluster and a StateDir of its own; one Pipeline value may be run several times under
// several names. Of one name only one runs at a time, wherever it does: another one is refused or takes over, and
// the first ends with KindFenced.
//
// If the process has a memory limit (GOMEMLIMIT, debug.SetMemoryLimit), Run ends with KindMemory when nine tenths of it are
// held, whoever holds them. Without one it takes what it needs.
//
// Run installs no signal handlers, opens no ports, changes no settings of the process, never ends it and writes to nothing but
// cfg.Logger, cfg.Metrics, the state directory and Kafka. A program that does little else may want
// what the programs of `eoc build` do: debug.SetGCPercent(200), since state holds no pointers and the
// memory is well spent.
func Run(ctx context.Context, p Pipeline, cfg Config) error {
	env := cfg.Getenv
	if env == nil {
		env = os.LookupEnv
	}
	set, spec, err := cfg.over(p).resolve(env, func(d settings.Defaults) (settings.Settings, error) { return settings.Of(cfg.values(), env, d) })
	if err != nil {
		return err
	}
	return operate(ctx.Done(), set, spec, view{graph: p.Graph, metrics: cfg.Metrics}, memory.New(""), cmp.Or(cfg.Logger, slog.Default()).With("pipeline", spec.Name))
}

// over is p with what takes the place of a declaration as a whole. Brokers are none of it: they say where, not how.
func (c Config) over(p Pipeline) Pipeline {
	if c.Connection != nil {
		brokers := cmp.Or(c.Connection.Brokers, p.Connection.Brokers)
		p.Connection = *c.Connection
		p.Connection.Brokers = brokers
	}
	return p
}

// values are the fields that are not zero, as the flags have them.
func (c Config) values() []settings.Value {
	var list []settings.Value
	add := func(given bool, flag, name, text string) {
		if given {
			list = append(list, settings.Value{Flag: flag, Name: "Config." + name, Text: text})
		}
	}
	add(len(c.Brokers) > 0, "brokers", "Brokers", strings.Join(c.Brokers, ","))
	add(c.StateDir != "", "state", "StateDir", c.StateDir)
	add(c.Name != "", "name", "Name", c.Name)
	add(c.Parallelism != 0, "parallelism", "Parallelism", strconv.Itoa(c.Parallelism))
	add(c.CheckpointInterval != 0, "checkpoint-interval", "CheckpointInterval", c.CheckpointInterval.String())
	add(c.Until.Bounded(), "until", "Until", c.Until.String())
	add(c.CreateTopics, "create-topics", "CreateTopics", "true")
	add(c.Fresh, "fresh", "Fresh", "true")
	add(c.AcceptLoss, "accept-loss", "AcceptLoss", "true")
	return list
}

// resolve is what the pipeline is told from outside, which parse knows, over what it declares. With settings
// that are an answer there is no spec.
func (p Pipeline) resolve(env settings.Env, parse func(settings.Defaults) (settings.Settings, error)) (settings.Settings, engine.Spec, error) {
	var spec engine.Spec
	if p.Build == nil {
		return settings.Settings{}, spec, failure.New(failure.Usage, "pass what the function Pipeline of a package returns that `eoc generate` has made", nil, "the Pipeline is empty")
	}
	declared, _ := newTask(p, env, nil, 0) // --help is there although a variable is not
	set, err := parse(settings.Defaults{
		Name: p.Name, File: p.File, Checkpoint: p.Checkpoint.duration(), Parallelism: p.Parallelism, StateDir: p.StateDir, Memory: p.Memory,
		TxnPrefix: p.TxnPrefix, Connection: p.Connection, Variables: declared.asked, API: API1,
		LongestCheckpoint: p.TxnTimeout.duration() - engine.CheckpointTimeout - engine.RestartBudget,
	})
	if err != nil || set.Answer != "" || set.Verb == settings.State { // what is stored is shown whatever the variables say
		return set, spec, err
	}
	p.brokers = &[]string{set.Brokers[0]}
	if spec, err = p.Spec(env); err != nil {
		return set, spec, err
	}
	for _, link := range declared.links {
		to, err := link.Resolve(env)
		if err != nil {
			return set, spec, err
		}
		set.Others = append(set.Others, to)
		*p.brokers = append(*p.brokers, to.Brokers[0])
	}
	spec.Name, spec.TxnPrefix, spec.StateDir = set.Name, set.TxnPrefix, set.StateDir
	return set, spec, nil
}

// operate opens the state and runs the engine until stop is closed or the pipeline ends.
func operate(stop <-chan struct{}, set settings.Settings, spec engine.Spec, v view, guard *memory.Guard, log *slog.Logger) (err error) {
	e := engine.Engine{
		Spec: &spec,
		Options: engine.Options{
			Parallelism: set.Parallelism, Checkpoint: set.Checkpoint, Until: set.Until,
			CreateTopics: set.CreateTopics, Fresh: set.Fresh, AcceptLoss: set.AcceptLoss, Memory: guard, Log: log,
		},
		Open: func(ctx context.Context, connection int) (engine.Cluster, error) {
			to := set.Reach(connection)
			return kafka.Open(ctx, kafka.Config{Brokers: to.Brokers, Unnamed: to.Unnamed, Connection: to.Connection, ClientID: "eo-" + spec.Name, Logger: log, Written: spec.Written(connection)})
		},
	}
	hide, err := v.show(set, &e, log)
	if err != nil {
		return err
	}
	defer hide()
	options := state.Options{Pipeline: spec.Name, Forms: spec.State, Merge: spec.Merge, Fresh: set.Fresh}
	e.OpenStore = func() (engine.Store, error) { return openStore(spec, options, log) }
	defer func() {
		if e.Store == nil {
			return
		}
		if e := closeStore(e.Store); err == nil {
			err = e
		}
	}()
	return e.Run(context.Background(), stop) // its context would cut off the final checkpoint
}

// openStore opens the state where the pipeline keeps it.
func openStore(spec engine.Spec, options state.Options, log *slog.Logger) (engine.Store, error) {
	if spec.Memory {
		return state.NewMemory(options), nil
	}
	b, err := state.OpenBolt(spec.StateDir, options)
	if err != nil {
		return nil, err
	}
	rights, err := b.Exposed()
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if rights != 0 {
		log.Warn("every user of the machine has rights to the state directory; its files are private, but who may write there can take them away",
			"directory", spec.StateDir, "remedy", "chmod 700 "+spec.StateDir)
	}
	return b, nil
}

// closeStore waits for the store to close, but not for ever: behind a disk that does not answer, Close waits for the write that
// the engine has given up, and the end of a run has a deadline.
func closeStore(s engine.Store) error {
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(engine.TeardownTimeout):
		return failure.New(failure.Disk, "nothing is lost: the next start goes on from the last checkpoint", nil, "the state was not closed within %v: the disk does not answer", engine.TeardownTimeout)
	}
}
