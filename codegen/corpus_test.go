package codegen_test

import (
	"flag"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/race"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// seed makes everything that is random in TestCorpus again.
var seed = flag.Uint64("seed", 0, "of the random program, its input and the schedules; 0: another one each time")

// TestCorpus generates a package of every example and of every file in testdata/corpus, builds them
// together, has vet and staticcheck look at them, and runs each in memory on random records, in random portions and
// interleavings, alone and with several tasks, with crashes in between. What comes out is what
// the reference says, whatever the schedule, and the types of the package read and write it.
func TestCorpus(t *testing.T) {
	graphs := map[string]*planner.Graph{}
	m := newModule(t)
	var names []string
	for _, pattern := range []string{"testdata/corpus/*.eo", filepath.Join(root, "examples", "*.eo")} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, f := range files {
			name := strings.TrimSuffix(filepath.Base(f), ".eo")
			graphs[name] = plan(t, f)
			m.add(t, name, graphs[name])
			names = append(names, name)
		}
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %#x", *seed)
	graphs["random"] = planText(t, "random.eo", []byte(randomProgram(*seed, 60)))
	m.add(t, "random", graphs["random"])
	names = append(names, "random")
	if len(m.rows["columns"]) != 2 {
		t.Fatalf("the sinks of columns.eo write %v", m.rows["columns"])
	}
	m.addRunner(t)
	runner := filepath.Join(m.dir, "run")
	m.run(t, "build", "-o", runner, "./runner")
	t.Run("vet", func(t *testing.T) { m.run(t, "vet", "./...") })
	t.Run("staticcheck", func(t *testing.T) {
		const tool = "honnef.co/go/tools/cmd/staticcheck"
		// The module of the pipelines fetches nothing: what is not in the module cache yet comes there now.
		if out, err := exec.Command("go", "list", "-deps", tool).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		m.run(t, "run", tool, "./...")
	})
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			compareWithReference(t, runner, name, graphs[name], rand.New(rand.NewPCG(*seed, 0)))
		})
	}
}

func compareWithReference(t *testing.T, runner, name string, g *planner.Graph, random *rand.Rand) {
	inputs, schedules := 3, 3
	if race.Enabled {
		inputs, schedules = 1, 2
	}
	for range inputs {
		seed := random.Uint64()
		gen := reference.Gen{Records: 600, Partitions: 3, Keys: 8, Step: 50 * time.Millisecond, OddOneIn: 12, BadOneIn: 30}
		if name == "scan" {
			gen.Records, gen.OddOneIn, gen.BadOneIn = 2000, 5, 3
		}
		input := gen.Input(seed, g)
		want := reference.Run(g, input)
		for range schedules {
			s := script{Pipeline: name, Seed: random.Uint64(), SinkTopics: sinkTopics(g)}
			s.Config.Partitions = partitionsOf(g, input)
			s.Config.Parallelism = 1 + int(s.Seed%3)
			s.Steps = append(appendInput(g, input), schedule(s.Seed, g, input)...)
			if d := reference.Compare(result(t, g, play(t, runner, s)), want); d != "" {
				t.Fatalf("input %#x, schedule %#x: %s", seed, s.Seed, d)
			}
		}
	}
}

// schedule reads all partitions in portions of any size, in any order, with checkpoints and crashes in
// between, and ends the input.
func schedule(seed uint64, g *planner.Graph, input reference.Input) []step {
	r := rand.New(rand.NewPCG(seed, 2))
	var parts []step
	left := 0
	for _, n := range g.Nodes {
		if s, ok := n.Op.(*planner.Source); ok {
			for p, records := range input[n.ID] {
				parts = append(parts, step{Do: "read", Topic: topicOf(s.Topic), Partition: p})
				left += len(records)
			}
		}
	}
	burst := 1 << r.IntN(9)
	var steps []step
	for read := 0; read < left; {
		s := parts[r.IntN(len(parts))]
		s.N = 1 + r.IntN(burst)
		read += s.N
		steps = append(steps, s)
		switch r.IntN(20) {
		case 0:
			steps = append(steps, step{Do: "checkpoint"})
		case 1:
			steps = append(steps, step{Do: "crash", N: 1 + r.IntN(3)})
		}
	}
	return append(steps, step{Do: "end"})
}
