//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/planner"
)

var (
	brokers = kafkatest.Pool{Settings: map[string]string{
		"log.message.timestamp.after.max.ms": fmt.Sprint(time.Hour.Milliseconds()),
		"log.cleaner.backoff.ms":             "200", // compaction waits 15 s else
	}}
	compiler program.Compiler
	serial   atomic.Int64 // numbers the pipelines of this process, so that none shares a topic with another
)

func TestMain(m *testing.M) {
	code := brokers.Main(m)
	compiler.Close()
	os.Exit(code)
}

// pipeline is a program with topics of its own on a broker.
type pipeline struct {
	name     string // of the pipeline, of its topics the first part
	text     string // of the .eo file, with its topics read from the environment
	graph    *planner.Graph
	broker   *kafkatest.Broker // of the sinks
	upstream *kafkatest.Broker // of the sources: mostly the same
	topics   map[string]string // topic in the .eo file to topic on the broker
}

// inPartitions and outPartitions are how many partitions topics get: fewer than most numbers of tasks divide.
const (
	inPartitions  = 4
	outPartitions = 3
)

// topicOption is a topic as an example writes it: kafka("orders"), dlq("orders.dlq").
var topicOption = regexp.MustCompile(`\b(kafka|dlq)\("([^"]+)"`)

// inputBrokers is the environment variable for the brokers of sources on another cluster.
const inputBrokers = "INPUT_BROKERS"

// variable names the environment variable that replaces a topic of an example.
func variable(topic string) string {
	return "TOPIC_" + strings.ToUpper(regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(topic, "_"))
}

// example reads a file of examples/.
func example(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", name+".eo"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eventTime is the clause of a source that names its event time.
var eventTime = regexp.MustCompile(`(?m)^  time +\w+$`)

// patient is a text whose sources never count as idle. While a broker is away, or a machine is so busy that nobody feeds for half a minute,
// what is late would depend on the clock.
func patient(text string) string { return eventTime.ReplaceAllString(text, "$0\n  idle      never") }

// newPipeline gives the program with the given text topics of its own on a broker, and creates them. One binary serves
// all pipelines of a text: its topics come from the environment.
func newPipeline(t testing.TB, name, text string, broker *kafkatest.Broker) *pipeline {
	t.Helper()
	return newPipelineFrom(t, name, text, broker, broker)
}

// newPipelineFrom is newPipeline with all sources on a broker of another cluster.
func newPipelineFrom(t testing.TB, name, text string, input, broker *kafkatest.Broker) *pipeline {
	t.Helper()
	p := declare(t, name, text, broker)
	p.upstream = input
	for written, topic := range p.topics {
		if p.source(written) != nil {
			input.CreateTopic(t, topic, inPartitions)
		} else {
			broker.CreateTopic(t, topic, outPartitions)
		}
	}
	return p
}

// declare is newPipeline without topics on the broker.
func declare(t testing.TB, name, text string, broker *kafkatest.Broker) *pipeline {
	t.Helper()
	program, diagnostics := dsl.Check(name+".eo", []byte(text))
	if program == nil {
		t.Fatalf("%s.eo: %v", name, diagnostics)
	}
	graph, diagnostics := planner.Plan(program)
	if graph == nil {
		t.Fatalf("%s.eo: %v", name, diagnostics)
	}
	p := &pipeline{
		name: fmt.Sprintf("%s-%d", name, serial.Add(1)), graph: graph, broker: broker, upstream: broker, topics: map[string]string{},
		text: topicOption.ReplaceAllStringFunc(text, func(option string) string {
			part := topicOption.FindStringSubmatch(option)
			return fmt.Sprintf("%s(env(%q, %q)", part[1], variable(part[2]), part[2])
		}),
	}
	for _, part := range topicOption.FindAllStringSubmatch(text, -1) {
		p.topics[part[2]] = p.name + "." + part[2]
	}
	return p
}

// source is the source that reads a topic of the .eo file, nil if none does.
func (p *pipeline) source(topic string) *planner.Source {
	for _, n := range p.graph.Nodes {
		if s, ok := n.Op.(*planner.Source); ok && s.Topic.Text == topic {
			return s
		}
	}
	return nil
}

// outputs are the topics on the broker that the program writes.
func (p *pipeline) outputs() []string {
	var topics []string
	for written, topic := range p.topics {
		if p.source(written) == nil {
			topics = append(topics, topic)
		}
	}
	return topics
}

// binary builds the program, once for each text and mode.
func (p *pipeline) binary(t testing.TB, mode program.Mode) string {
	t.Helper()
	name, _, _ := strings.Cut(p.name, "-")
	return compiler.Build(t, name, p.text, mode)
}

// environment is what every start of the program gets.
func (p *pipeline) environment(state string, parallelism int, interval time.Duration) []string {
	env := []string{
		"EO_BROKERS=" + p.broker.Addr, "EO_NAME=" + p.name, "EO_STATE=" + state, "EO_LOG_FORMAT=json",
		fmt.Sprint("EO_PARALLELISM=", parallelism), fmt.Sprint("EO_CHECKPOINT_INTERVAL=", interval),
	}
	if p.upstream != p.broker {
		env = append(env, inputBrokers+"="+p.upstream.Addr)
	}
	for written, topic := range p.topics {
		env = append(env, variable(written)+"="+topic)
	}
	return env
}

// group takes the markers.
func (p *pipeline) group() string { return "eo-" + p.name }

// transactionalIDs are those that the program uses in turn.
func (p *pipeline) transactionalIDs() []string { return []string{p.name + "-0", p.name + "-1"} }

// stateless reports whether the pipeline keeps nothing but positions.
func (p *pipeline) stateless() bool {
	for _, n := range p.graph.Nodes {
		if _, ok := n.Op.(*planner.Window); ok {
			return false
		}
	}
	return true
}
