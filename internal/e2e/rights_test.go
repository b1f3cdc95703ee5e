//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/pages"
)

// right is a row of the table in docs/operations.md: an operation on a kind of resource, in what part of the pipeline.
type right struct{ operation, kind, of string }

// The rows, which TestRightsPage compares with the page.
var (
	readSource     = right{"READ", "topic", "each source"}
	writeSink      = right{"WRITE", "topic", "each sink, those for late records included, and each dead-letter topic"}
	readGroup      = right{"READ", "group", "`eo-NAME`, if a sink is `exactly_once`, as those are that say nothing"}
	writeTxns      = right{"WRITE", "transactional id", "`NAME-0` and `NAME-1`, likewise"}
	readAnchor     = right{"READ", "topic", "the first `exactly_once` sink of the text, if all sources are on other clusters"}
	describeGroup  = right{"DESCRIBE", "group", "`start group(\"…\")` of a source, until the first start has been"}
	createTopics   = right{"CREATE", "topic", "each topic that is missing, with `--create-topics`"}
	configsTopic   = right{"DESCRIBE_CONFIGS", "topic", "each topic, for `doctor`"}
	configsCluster = right{"DESCRIBE_CONFIGS", "cluster", "for `doctor`"}
	describe       = right{"DESCRIBE", "cluster", "for `doctor`"}
	readSinks      = right{"READ", "topic", "each `exactly_once` sink, for `verify`, `txn list` and `txn repair`"}
	clusterAction  = right{"CLUSTER_ACTION", "cluster", "for `txn repair`, and only while it is needed"}
)

// grant is a right on one resource, which its row is about.
type grant struct {
	right
	name string
}

func (g grant) String() string { return fmt.Sprintf("%s on %s %s", g.operation, g.kind, g.name) }

// rightsCase is a pipeline, and what it needs.
type rightsCase struct {
	name, text string
	rows       []right // of the program
	elsewhere  bool    // its source is on a cluster that asks for nothing
	later      bool    // rights are missed where they are used, too
	want       map[string]int
}

const rightsHead = `type Order { id: string  n: int  at: timestamp }
source orders: Order from kafka("orders") { time at  watermark 1s %s }
`

// rightsInput has records of two windows, one that is late and one that is no order.
var rightsInput = []string{
	`{"id":"a","n":1,"at":"2026-01-31T12:00:01Z"}`, `{"id":"a","n":2,"at":"2026-01-31T12:00:02Z"}`, `{"id":"b","n":4,"at":"2026-01-31T12:02:00Z"}`,
	`{"id":"c","n":8,"at":"2026-01-31T12:00:03Z"}`,
}

var rightsCases = []rightsCase{
	{
		name: "exactly", later: true, rows: []right{readSource, writeSink, readGroup, writeTxns},
		text: fmt.Sprintf(rightsHead, `on_error dlq("bad")`) + `
			stream per_minute { from orders  window tumbling 1m by id late to lates  aggregate n = sum(n)  to sums }
			sink sums to kafka("sums") { key id }
			sink lates to kafka("lates")`,
		want: map[string]int{"sums": 2, "lates": 1, "bad": 1},
	},
	{
		name: "atleast", rows: []right{readSource, writeSink},
		text: fmt.Sprintf(rightsHead, `on_error skip`) + `stream all { from orders  to kafka("all") { deliver at_least_once } }`,
		want: map[string]int{"all": 4},
	},
	{
		name: "none", rows: []right{readSource, writeSink},
		text: fmt.Sprintf(rightsHead, `on_error skip`) + `stream all { from orders  to kafka("all") { deliver none } }`,
		// It promises no records, so none are counted.
	},
	{
		name: "letters", rows: []right{readSource, writeSink}, // dead letters are as the sinks are
		text: fmt.Sprintf(rightsHead, `on_error dlq("bad")`) + `stream all { from orders  to kafka("all") { deliver at_least_once } }`,
		want: map[string]int{"all": 4, "bad": 1},
	},
	{
		name: "group", rows: []right{readSource, writeSink, readGroup, writeTxns, describeGroup},
		text: fmt.Sprintf(rightsHead, `on_error skip  start group("others")`) + `stream all { from orders  to kafka("all") }`,
		want: map[string]int{"all": 4},
	},
	{
		name: "elsewhere", rows: []right{writeSink, readGroup, writeTxns, readAnchor}, elsewhere: true, later: true,
		text: fmt.Sprintf(rightsHead, `on_error skip  brokers env("`+inputBrokers+`")`) + `
			stream all { from orders  to first, second }
			sink first to kafka("first")
			sink second to kafka("second")`,
		want: map[string]int{"first": 4, "second": 4},
	},
}

// resources are those that a row is about.
func (p *pipeline) resources(r right) []string {
	var sources, sinks []string
	for written, topic := range p.topics {
		if p.source(written) != nil {
			sources = append(sources, topic)
		} else {
			sinks = append(sinks, topic)
		}
	}
	switch r {
	case readSource:
		return sources
	case writeSink, readSinks:
		return sinks
	case readGroup:
		return []string{p.group()}
	case writeTxns:
		return p.transactionalIDs()
	case readAnchor:
		return []string{p.topics["first"]}
	case describeGroup:
		return []string{"others"}
	case createTopics, configsTopic:
		if p.upstream != p.broker {
			return sinks
		}
		return append(sources, sinks...)
	}
	return []string{"kafka-cluster"}
}

func (p *pipeline) grants(rows []right) []grant {
	var all []grant
	for _, r := range rows {
		for _, name := range p.resources(r) {
			all = append(all, grant{r, name})
		}
	}
	slices.SortFunc(all, func(a, b grant) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// TestRights runs pipelines of every kind with the rights that docs/operations.md lists and no others, on a Kafka that asks for rights. With each
// of them taken away in turn, program and doctor say which one is missing, and how to grant it.
func TestRights(t *testing.T) {
	t.Parallel()
	guarded := kafkatest.Start(t, kafkatest.Options{Secure: true, Settings: kafkatest.Rights()})
	guarded.Fence(t, "others") // there are transactions, without which doctor does not ask for rights to make some
	needed := map[right]bool{}
	for _, c := range rightsCases {
		p := declare(t, c.name, c.text, guarded)
		if c.elsewhere {
			p.upstream = brokers.Broker(t, 2)
		}
		g := &guard{pipeline: p, rightsCase: c, binary: p.binary(t, program.Mode{})}
		t.Run(c.name, func(t *testing.T) { g.test(t) })
		for _, r := range c.rows {
			needed[r] = true
		}
	}
	t.Run("create", func(t *testing.T) { testCreate(t, guarded) })
	t.Run("source", func(t *testing.T) { testGuardedSource(t, guarded) })
	t.Run("verbs", func(t *testing.T) { testVerbs(t, guarded) })
	for _, r := range []right{createTopics, configsTopic, configsCluster, describe, readSinks, clusterAction} {
		needed[r] = true
	}
	if page := rightsOfPage(t); len(needed) != len(page) {
		t.Errorf("%d rights are tested, the page has %d", len(needed), len(page))
	}
}

// guard is a pipeline as the user of the guarded Kafka.
type guard struct {
	*pipeline
	rightsCase
	binary string
}

// asUser is how the program connects to the guarded Kafka as kafkatest.User.
func asUser(b *kafkatest.Broker) []string {
	return []string{"EO_BROKERS=" + b.Secure.Plain, "EO_SASL_MECHANISM=plain", "EO_SASL_USER=" + kafkatest.User, "EO_SASL_PASSWORD=" + kafkatest.Password}
}

// run runs the program, or a verb of it, to its end. Each time it begins anew.
func (g *guard) run(t *testing.T, args ...string) *program.Process {
	t.Helper()
	env := append(g.environment(filepath.Join(t.TempDir(), "state"), 1, 50*time.Millisecond), asUser(g.broker)...)
	return program.Start(t, g.binary, program.Config{Args: args, Env: env})
}

var toEnd = []string{"--until", "latest", "--fresh"}

// fill creates the topics and gives the source its records.
func (g *guard) fill(t *testing.T) {
	t.Helper()
	for written, topic := range g.topics {
		if g.source(written) == nil {
			g.broker.CreateTopic(t, topic, 1)
			continue
		}
		g.upstream.CreateTopic(t, topic, 1)
		for _, text := range append(rightsInput, "no order") {
			g.upstream.Produce(t, topic, kafkatest.Record{Value: []byte(text), Time: time.Now()})
		}
	}
}

func (g *guard) test(t *testing.T) {
	g.fill(t)
	all := g.grants(g.rows)
	for _, r := range all {
		g.broker.Grant(t, r.operation, r.kind, r.name)
	}
	exits(t, g.run(t, toEnd...), 0)
	g.broker.AwaitSettled(t, g.outputs()...)
	for written, n := range g.want {
		if got := len(g.broker.ReadCommitted(t, g.topics[written])); got != n {
			t.Errorf("topic %s has %d records, want %d", written, got, n)
		}
	}
	checked := g.run(t, "doctor", "--fresh")
	exits(t, checked, 0)
	forTools := grant{readGroup, g.group()}
	if strings.Contains(checked.Log(), g.command(forTools)) == slices.Contains(g.rows, readGroup) {
		t.Errorf("what doctor says of the group, which tools show lag by:\n%s", checked.Log())
	}
	for _, r := range all {
		t.Run(r.String(), func(t *testing.T) {
			g.broker.Revoke(t, r.operation, r.kind, r.name)
			g.refused(t, r)
			// A topic that can still be seen: the right is missed later, where it is used.
			if r.kind == "topic" && g.later {
				g.broker.Grant(t, "DESCRIBE", r.kind, r.name)
				g.refused(t, r)
				g.broker.Revoke(t, "DESCRIBE", r.kind, r.name)
			}
			g.broker.Grant(t, r.operation, r.kind, r.name)
		})
	}
}

// refused runs program and doctor without a right. Both say which one it is.
func (g *guard) refused(t *testing.T, r grant) {
	t.Helper()
	exits(t, g.run(t, toEnd...), 7, r.String(), g.command(r))
	exits(t, g.run(t, "doctor", "--fresh"), 7, g.command(r))
}

// command grants a right.
func (g *guard) command(r grant) string {
	return fmt.Sprintf("kafka-acls.sh --bootstrap-server %s --add --allow-principal User:%s --operation %s --%s %s",
		g.broker.Secure.Plain, kafkatest.User, r.operation, strings.ReplaceAll(r.kind, " ", "-"), r.name)
}

// testCreate has a program make its topics, and doctor tell everything.
func testCreate(t *testing.T, b *kafkatest.Broker) {
	c := rightsCases[0]
	p := declare(t, "create", c.text, b)
	g := &guard{pipeline: p, rightsCase: c, binary: p.binary(t, program.Mode{})}
	for _, r := range p.grants(c.rows) {
		b.Grant(t, r.operation, r.kind, r.name)
	}
	create := p.grants([]right{createTopics})
	args := append([]string{"--create-topics"}, toEnd...)
	for i, r := range create {
		if i > 0 {
			b.Grant(t, r.operation, r.kind, r.name)
		}
	}
	exits(t, g.run(t, args...), 7, create[0].String())
	b.Grant(t, create[0].operation, create[0].kind, create[0].name)
	exits(t, g.run(t, args...), 0, "made a topic")

	more := p.grants([]right{configsTopic, configsCluster, describe})
	for _, r := range more {
		b.Grant(t, r.operation, r.kind, r.name)
	}
	untold := map[right]string{
		configsTopic: "its settings are not shown", configsCluster: "do not show transaction.max.timeout.ms", describe: "does not tell its time",
	}
	complete := g.run(t, "doctor", "--fresh")
	exits(t, complete, 0)
	for _, text := range untold {
		if strings.Contains(complete.Log(), text) {
			t.Errorf("%s with all rights:\n%s", text, complete.Log())
		}
	}
	for _, r := range more {
		b.Revoke(t, r.operation, r.kind, r.name)
		exits(t, g.run(t, "doctor", "--fresh"), 0, untold[r.right])
		b.Grant(t, r.operation, r.kind, r.name)
	}
}

// testGuardedSource has the source on a cluster of its own that asks for TLS, SASL and rights, as the text says with a secret.
func testGuardedSource(t *testing.T, b *kafkatest.Broker) {
	text := fmt.Sprintf(rightsHead, `on_error skip
		brokers env("`+inputBrokers+`")
		tls     files(ca: env("INPUT_CA"))
		sasl    scram512(user: env("INPUT_USER"), password: secret("INPUT_PASSWORD"))`) + `stream all { from orders  to kafka("all") }`
	p := declare(t, "guarded", text, brokers.Broker(t, 2))
	p.upstream = b
	g := &guard{pipeline: p, binary: p.binary(t, program.Mode{})}
	g.fill(t)
	topic := p.topics["orders"]
	start := func(t *testing.T, more ...string) *program.Process {
		t.Helper()
		env := append(g.environment(filepath.Join(t.TempDir(), "state"), 1, 50*time.Millisecond), "EO_LOG_LEVEL=debug", inputBrokers+"="+b.Secure.Scram,
			"INPUT_CA="+b.Secure.Authority.CA, "INPUT_USER="+kafkatest.User, "INPUT_PASSWORD="+kafkatest.Password)
		return program.Start(t, g.binary, program.Config{Args: toEnd, Env: append(env, more...)})
	}
	exits(t, start(t), 7, "READ on topic "+topic, "--bootstrap-server "+b.Secure.Scram+" ")
	b.Grant(t, "READ", "topic", topic)
	exits(t, start(t, "INPUT_PASSWORD=wrong"), 7, "SASL_AUTHENTICATION_FAILED")
	exits(t, start(t, "INPUT_CA="+filepath.Join(t.TempDir(), "none")), 2, "the authorities of TLS (ca) cannot be read")
	ended := start(t)
	exits(t, ended, 0, "READ on group "+p.group()) // a warning: tools do not see how far it is
	quiet(t, ended.Log())
	p.broker.AwaitSettled(t, p.outputs()...)
	if got := len(p.broker.ReadCommitted(t, p.topics["all"])); got != 4 {
		t.Errorf("%d results, want 4", got)
	}
	b.Grant(t, "READ", "group", p.group())
	if ended = start(t); strings.Contains(ended.Wait(t, stopLimit, "end").String()+ended.Log(), "READ on group") {
		t.Errorf("with the right on the group:\n%s", ended.Tail(20))
	}
}

// rightsOfPage are the rows of the table in docs/operations.md.
func rightsOfPage(t *testing.T) []right {
	t.Helper()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Rights\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []right
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-Z_]+) \| ([a-z ]+) \| (.+) \|$`).FindAllStringSubmatch(section, -1) {
		rows = append(rows, right{m[1], m[2], m[3]})
	}
	return rows
}

// The page lists the rights that TestRights grants, in the same words.
func TestRightsPage(t *testing.T) {
	want := []right{readSource, writeSink, readGroup, writeTxns, readAnchor, describeGroup, createTopics, configsTopic, configsCluster, describe, readSinks, clusterAction}
	if got := rightsOfPage(t); !slices.Equal(got, want) {
		t.Errorf("docs/operations.md lists\n%v\nwant\n%v", got, want)
	}
	orders := declare(t, "orders", example(t, "orders"), nil)
	orders.name = "orders"
	for written := range orders.topics {
		orders.topics[written] = written
	}
	var granted []string
	for _, g := range orders.grants([]right{readSource, writeSink, readGroup, writeTxns}) {
		granted = append(granted, g.String())
	}
	if got := commandsOfPage(t); !slices.Equal(got, granted) {
		t.Errorf("its commands grant\n%v\nwant\n%v", got, granted)
	}
}

// commandsOfPage are the rights that the page's commands grant, without their rows.
func commandsOfPage(t *testing.T) []string {
	t.Helper()
	list, err := pages.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range list {
		for _, b := range p.Blocks {
			if p.Path != "docs/operations.md" || !strings.Contains(b.Text, "kafka-acls.sh") {
				continue
			}
			for command := range strings.SplitSeq(strings.ReplaceAll(b.Text, "\\\n", " "), "\n") {
				operation := regexp.MustCompile(`--operation (\w+)`).FindStringSubmatch(command)
				for _, m := range regexp.MustCompile(`--(topic|group|transactional-id) (\S+)`).FindAllStringSubmatch(command, -1) {
					all = append(all, fmt.Sprintf("%s on %s %s", operation[1], strings.ReplaceAll(m[1], "-", " "), m[2]))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
