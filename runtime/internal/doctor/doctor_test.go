package doctor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/golden"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/doctor"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/record"
	"github.com/eoc-lang/eoc/runtime/internal/secure"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// patient is a pipeline with topics of its own.
type patient struct {
	*kafkatest.Broker
	cfg   doctor.Config
	bound int64 // of the partitions that save stores
}

// newPatient is a pipeline of a source, a dead-letter topic and a sink. Its topics are not made yet.
func newPatient(t *testing.T, b *kafkatest.Broker, name string) *patient {
	t.Helper()
	p := &patient{Broker: b, bound: -1}
	forms := []checkpoint.Form{{ID: "orders", Place: "orders.eo:8", Form: "topic " + name + "-in"}}
	p.cfg = doctor.Config{
		Settings: settings.Settings{
			Name: name, Brokers: []string{b.Addr}, StateDir: filepath.Join(t.TempDir(), "state"), TxnPrefix: name, Checkpoint: time.Second, Parallelism: 2,
		},
		Spec: engine.Spec{
			Name: name, File: "orders.eo", TxnPrefix: name, TxnTimeout: 2 * time.Minute, State: forms,
			Sources: []engine.SourceSpec{{Name: "orders", Place: "orders.eo:8", Topic: name + "-in"}},
			Sinks: []engine.SinkSpec{
				{Name: "totals", Place: "orders.eo:20", Topic: name + "-out"}, {Name: name + "-dead", Place: "orders.eo:8", Topic: name + "-dead"},
			},
		},
		State: state.Options{Pipeline: name, Forms: forms},
	}
	return p
}

// topics makes the topics. Settings are pairs of a topic's last word and a setting.
func (p *patient) topics(t *testing.T, pairs ...string) {
	t.Helper()
	for _, topic := range []string{"in", "out", "dead"} {
		var of []string
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == topic {
				of = append(of, pairs[i+1])
			}
		}
		p.CreateTopic(t, p.cfg.Spec.Name+"-"+topic, 2, of...)
	}
}

func (p *patient) run(t *testing.T) *doctor.Report {
	t.Helper()
	r := doctor.Run(t.Context(), p.cfg)
	var text bytes.Buffer
	if err := r.Print(&text, false, false); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &text)
	inOrder(t, r)
	return r
}

// expect wants a check with a result and texts, which may be in what to do.
func expect(t *testing.T, r *doctor.Report, check string, result doctor.Result, texts ...string) {
	t.Helper()
	found := slices.ContainsFunc(r.Checks, func(c doctor.Check) bool {
		all := c.Text + " → " + c.Help
		return c.Check == check && c.Result == result && !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(all, s) })
	})
	if !found {
		t.Errorf("there is no %s of %s with %q", result, check, texts)
	}
}

// save stores checkpoints up to n, which has read next records of partition 0 and none of partition 1.
func (p *patient) save(t *testing.T, n, next int64, change func(*checkpoint.Checkpoint)) {
	t.Helper()
	b, err := state.OpenBolt(p.cfg.Settings.StateDir, p.cfg.State)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	name := p.cfg.Spec.Name
	c := &checkpoint.Checkpoint{Incarnation: checkpoint.ID{7}, Pipeline: name, Group: "eo-" + name, IDs: []string{name + "-0", name + "-1"}}
	for i := range n + 1 {
		if c.Number = i; change != nil {
			change(c)
		}
		for id := range int32(2) {
			part := checkpoint.Partition{Source: "orders", Topic: name + "-in", TopicID: p.TopicID(t, name+"-in"), ID: id, Active: true, Bound: p.bound}
			if id == 0 {
				part.Next = next
			}
			c.Partitions = append(c.Partitions, part)
		}
		if err := b.Save(c); err != nil {
			t.Fatal(err)
		}
		if err := b.Confirm(i); err != nil {
			t.Fatal(err)
		}
		c = c.Next()
	}
}

// TestDoctor asks one broker that asks for rights about pipelines in every condition.
func TestDoctor(t *testing.T) {
	rights := kafkatest.Rights()
	rights["offsets.retention.minutes"] = "60"
	b := kafkatest.Start(t, kafkatest.Options{Secure: true, Settings: rights})
	t.Run("well", func(t *testing.T) { well(t, b) }) // first: in a cluster that has no coordinators' topics yet
	if made := b.InternalTopics(t); len(made) > 0 {
		t.Errorf("asking has made the topics %v", made)
	}
	for name, test := range map[string]func(*testing.T, *kafkatest.Broker){
		"missing": missing, "topics": topics, "input": input, "changed": changed, "stale": stale, "rights": testRights,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

var changing = []*regexp.Regexp{
	regexp.MustCompile(`127\.0\.0\.1:[0-9]+`), regexp.MustCompile(`/\S*/state`), regexp.MustCompile(`id [A-Za-z0-9_-]{22}`), regexp.MustCompile(`\(v[0-9.]+\)`),
	regexp.MustCompile(`[0-9.]+ [KMG]iB are free`), regexp.MustCompile(`(answers in|less than|waits?, the oldest record is|waits in \S+ is) [0-9.]+[mµ]?s`),
}

// stable takes out what differs from run to run.
func stable(text string) string {
	for i, re := range changing {
		text = re.ReplaceAllString(text, [...]string{"HOST:PORT", "STATE", "id CLUSTER", "(VERSION)", "MUCH are free", "$1 TIME"}[i])
	}
	return text
}

// well is a pipeline before its first start, in a cluster that has everything.
func well(t *testing.T, b *kafkatest.Broker) {
	p := newPatient(t, b, "well")
	p.topics(t, "dead", "retention.ms=604800000", "in", "retention.ms=604800000")
	p.Produce(t, "well-in", kafkatest.Record{Value: []byte("{}"), Time: time.Now()})
	r := p.run(t)
	if r.Code() != 0 || r.Result != doctor.Warning {
		t.Errorf("result %s, code %d", r.Result, r.Code())
	}
	var text, data bytes.Buffer
	if err := r.Print(&text, false, false); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("testdata", "well.txt"), []byte(stable(text.String())))
	if err := r.Print(&data, true, true); err != nil {
		t.Fatal(err)
	}
	var back doctor.Report
	if err := json.Unmarshal(data.Bytes(), &back); err != nil || fmt.Sprint(back) != fmt.Sprint(*r) {
		t.Errorf("as JSON it is not the same: %v\n%s", err, &data)
	}
	if text.Reset(); r.Print(&text, false, true) != nil || !strings.Contains(text.String(), "\x1b[32mok") {
		t.Errorf("no colours:\n%s", &text)
	}
	if _, err := os.Stat(p.cfg.Settings.StateDir); err == nil {
		t.Error("the state directory was made")
	}
}

// missing is a pipeline without topics, then without a cluster.
func missing(t *testing.T, b *kafkatest.Broker) {
	p := newPatient(t, b, "missing")
	r := p.run(t)
	expect(t, r, "topics", doctor.Failure, "missing topic: missing-in", "kafka-topics.sh --bootstrap-server "+b.Addr+" --create --topic missing-in`", "--create-topics")
	expect(t, r, "open-transactions", doctor.Unknown, "there are no topics yet")
	expect(t, r, "topics", doctor.Failure, "missing topic: missing-dead")
	if r.Code() != 7 {
		t.Errorf("code %d", r.Code())
	}
	p.cfg.Settings.CreateTopics = true
	r = p.run(t)
	expect(t, r, "topics", doctor.OK, "--create-topics makes it")
	if r.Code() != 0 {
		t.Errorf("with --create-topics: code %d", r.Code())
	}
	p.cfg.Spec.Memory = true
	expect(t, p.run(t), "state-directory", doctor.Warning, "kept in memory", "reads once more from where the sources start")
	p.cfg.Spec.Memory = false
	p.cfg.Settings.Brokers = []string{"127.0.0.1:1"}
	r = p.run(t)
	expect(t, r, "brokers", doctor.Failure, "cannot reach Kafka at 127.0.0.1:1", "connection refused")
	expect(t, r, "rights", doctor.Unknown, "there is no contact")
	var text strings.Builder
	if err := r.Print(&text, false, false); err != nil {
		t.Fatal(err)
	}
	if s := text.String(); strings.Count(s, "there is no contact to the cluster\n") != 1 || !strings.Contains(s, "so it is with transactions, clock, topics, rights, ") {
		t.Errorf("what is unknown for one reason is said again and again:\n%s", s)
	}
	if r.Code() != 7 {
		t.Errorf("without a cluster: code %d", r.Code())
	}
	p.cfg.Settings.Brokers = []string{"127.0.0.1:1", b.Addr}
	expect(t, p.run(t), "brokers", doctor.Warning, "127.0.0.1:1")
	p.cfg.Settings.Brokers = []string{b.Secure.TLS}
	expect(t, p.run(t), "brokers", doctor.Failure, "speaks TLS, the program does not", "--tls")
}

// topics is a pipeline whose topics have settings that do not suit.
func topics(t *testing.T, b *kafkatest.Broker) {
	p := newPatient(t, b, "topics")
	p.topics(t, "in", "cleanup.policy=compact", "in", "max.message.bytes=2000000", "out", "min.insync.replicas=2", "out", "cleanup.policy=compact",
		"in", "unclean.leader.election.enable=true", "out", "unclean.leader.election.enable=true",
		"dead", "cleanup.policy=compact,delete")
	p.cfg.Spec.TxnTimeout = time.Hour
	r := p.run(t)
	expect(t, r, "topics", doctor.Warning, "topics-in is compacted")
	expect(t, r, "topics", doctor.Failure, "topics-out cannot be written: it has 1 replica, and min.insync.replicas is 2")
	expect(t, r, "topics", doctor.Warning, "topics-out is compacted", "needs a `key`")
	expect(t, r, "topics", doctor.Failure, "topics-dead takes dead letters", "cleanup.policy=delete")
	expect(t, r, "topics", doctor.Warning, "topics-in has unclean.leader.election.enable=true", "what was read may be gone", "--entity-name topics-in --add-config unclean.leader.election.enable=false")
	expect(t, r, "topics", doctor.Warning, "topics-out has unclean.leader.election.enable=true", "committed results are gone")
	expect(t, r, "topics", doctor.Warning, "topics-in has records of up to 1.9 MiB", "max.message.bytes of topics-dead")
	expect(t, r, "txn-timeout", doctor.Failure, "the transaction timeout of 1h0m0s is too long", "allows 15m0s")
	if r.Result != doctor.Failure || r.Code() != 7 {
		t.Errorf("result %s, code %d", r.Result, r.Code())
	}
}

// input is a pipeline with a state whose input is about to go, and results that are older than their topic keeps them.
func input(t *testing.T, b *kafkatest.Broker) {
	p := newPatient(t, b, "input")
	p.topics(t, "in", "retention.ms=864000000", "out", "retention.ms=3600000", "dead", "message.timestamp.before.max.ms=7200000")
	p.cfg.Spec.Sinks[0].Deliver, p.cfg.Spec.Sinks[1].Deliver = engine.AtLeastOnce, engine.AtLeastOnce
	for range 3 {
		p.Produce(t, "input-in", kafkatest.Record{Value: []byte("{}"), Time: time.Now().Add(-9 * 24 * time.Hour)})
	}
	p.save(t, 2, 1, nil)
	r := p.run(t)
	expect(t, r, "state", doctor.OK, "checkpoint 2, confirmed")
	expect(t, r, "start", doctor.OK, "goes on from checkpoint 2")
	expect(t, r, "input", doctor.Warning, "2 offsets wait, the oldest record is 9 days old (partition 0, offset 1)", "keeps records for 10 days", "deleted in 24h")
	expect(t, r, "retention", doctor.Warning, "input-out keeps results for 1h", "retention.ms of at least 777")
	expect(t, r, "retention", doctor.Failure, "input-dead refuses records whose time is more than 2h")
	expect(t, r, "txn-timeout", doctor.OK, "there are no transactions")
	inState(t, p)
	b.DeleteRecords(t, "input-in", 0, 2)
	r = p.run(t)
	expect(t, r, "input", doctor.Failure, "1 record of input-in/0 is gone: the state wants offset 1, the first there is 2", "--accept-loss")
	p.cfg.Settings.AcceptLoss = true
	if r = p.run(t); !slices.ContainsFunc(r.Checks, func(c doctor.Check) bool { return c.Check == "input" && c.Result == doctor.Warning }) {
		t.Error("--accept-loss does not accept it")
	}
	if err := os.Chtimes(filepath.Join(p.cfg.Settings.StateDir, "state.db"), time.Time{}, time.Now().Add(-49*time.Minute-30*time.Second)); err != nil {
		t.Fatal(err)
	}
	expect(t, p.run(t), "offsets-retention", doctor.Warning, "the marker is deleted in about 10m") // and some seconds, which the checks before take some of
}

// inState is a pipeline whose next record is young, and whose windows are not.
func inState(t *testing.T, p *patient) {
	t.Helper()
	old := *p
	old.cfg.Settings.StateDir = filepath.Join(t.TempDir(), "state")
	for range 3 {
		p.Produce(t, "input-in", kafkatest.Record{Partition: 1, Value: []byte("{}"), Time: time.Now()})
	}
	windows := func(c *checkpoint.Checkpoint) {
		c.Watermarks = []checkpoint.Watermark{{Operator: "totals/window", W: time.Now().Add(-5 * time.Hour).UnixMicro()}}
		c.Deltas = []checkpoint.Delta{{Operator: "totals/window", Data: []byte("open")}}
	}
	old.save(t, 2, 3, windows)
	r := old.run(t)
	expect(t, r, "input", doctor.OK, "input-in: 3 offsets wait")
	expect(t, r, "retention", doctor.Warning, "input-out keeps results for 1h", "windows of totals/window that may still be open in the state are 5h0m old")
	expect(t, r, "retention", doctor.Failure, "input-dead refuses records whose time is more than 2h", "windows of totals/window")
}

// changed is a state of another program, a directory that others may read, and a file that is damaged.
func changed(t *testing.T, b *kafkatest.Broker) {
	p := newPatient(t, b, "changed")
	p.topics(t)
	p.save(t, 0, 0, nil)
	p.cfg.State.Forms = []checkpoint.Form{{ID: "orders", Place: "orders.eo:9", Form: "topic other"}}
	if err := os.Chmod(p.cfg.Settings.StateDir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := p.run(t)
	expect(t, r, "state", doctor.Failure, "the program has changed", "orders.eo:9: orders: `topic other`, was `topic changed-in`")
	expect(t, r, "state-directory", doctor.Warning, "may be read by others", "chmod 700")
	expect(t, r, "start", doctor.Unknown)
	if r.Code() != 5 {
		t.Errorf("code %d", r.Code())
	}
	if err := os.WriteFile(filepath.Join(p.cfg.Settings.StateDir, "state.db"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, p.run(t), "state", doctor.Failure, "is damaged")
	p.cfg.Settings.Fresh = true
	p.cfg.Settings.Misspelt = []settings.Misspelling{{Name: "EO_BROKER", Meant: "EO_BROKERS"}}
	expect(t, p.run(t), "settings", doctor.Warning, "EO_BROKER means nothing", "set EO_BROKERS")
	expect(t, p.run(t), "state", doctor.Warning, "is damaged", "keeps the damaged file under another name")
	p.cfg.Settings.Fresh = false
	p.cfg.Settings.StateDir = filepath.Join(p.cfg.Settings.StateDir, "state.db")
	expect(t, p.run(t), "state-directory", doctor.Failure, "--state wants the directory that the file is in")
}

// stale is a state whose marker is gone, and a transaction that was left open.
func stale(t *testing.T, b *kafkatest.Broker) {
	p := newPatient(t, b, "stale")
	p.topics(t)
	p.OpenTxn(t, "stale-1", "stale-out", kafkatest.Record{Value: []byte("x")})
	name := p.cfg.Spec.Name
	p.save(t, 3, 0, func(c *checkpoint.Checkpoint) {
		if c.Exactly = c.Number > 0; c.Exactly {
			c.Committable = checkpoint.Committable{TransactionalID: name + "-0", ProducerID: 5, EndTxnVersion: 5, Checkpoint: c.Number, Incarnation: c.Incarnation}
		}
	})
	r := p.run(t)
	expect(t, r, "start", doctor.Failure, "checkpoint 3 is confirmed, but consumer group eo-stale has no marker any more", "--accept-loss")
	expect(t, r, "transactional-ids", doctor.Warning, "stale-1: its transaction is open for")
	expect(t, r, "transactional-ids", doctor.OK, "stale-0 was never used")
	expect(t, r, "open-transactions", doctor.Warning, "stale-out/0: readers of committed records stop at offset 0, with 1 offset behind it", "transactional id stale-1", "a start ends it")
	p.OpenTxn(t, "somebody", "stale-in", kafkatest.Record{Partition: 1, Value: []byte("x")})
	expect(t, p.run(t), "open-transactions", doctor.OK, "stale-in/1: readers of committed records stop at offset 0", "transactional id somebody", "which its coordinator ends")
	if r.Code() != 9 {
		t.Errorf("code %d", r.Code())
	}
}

// testRights is a pipeline that may do too little, and is given one right after the other.
func testRights(t *testing.T, b *kafkatest.Broker) {
	p := newPatient(t, b, "rights")
	p.topics(t)
	b.Fence(t, "rights-other") // there are transactions in this cluster
	p.cfg.Settings.Brokers = []string{b.Secure.Plain}
	p.cfg.Settings.Connection.SASL = &secure.SASL{Mechanism: secure.Plain, User: kafkatest.User, Secret: secure.Value("EO_SASL_PASSWORD", kafkatest.Password)}
	r := p.run(t)
	expect(t, r, "topics", doctor.Failure, "rights-in", "TOPIC_AUTHORIZATION_FAILED", "kafka-acls.sh")
	expect(t, r, "rights", doctor.Failure, "the program lacks WRITE on transactional id rights-0",
		"--add --allow-principal User:shop --operation WRITE --transactional-id rights-0")
	expect(t, r, "clock", doctor.Unknown)
	for _, topic := range []string{"rights-in", "rights-out", "rights-dead"} {
		b.Grant(t, "describe", "topic", topic)
	}
	b.Grant(t, "write", "txn", "rights-0")
	b.Grant(t, "write", "txn", "rights-1")
	r = p.run(t)
	expect(t, r, "rights", doctor.Failure, "the program lacks READ on topic rights-in", "--operation READ --topic rights-in")
	expect(t, r, "rights", doctor.Failure, "the program lacks WRITE on topic rights-out", "--operation WRITE --topic rights-out")
	expect(t, r, "rights", doctor.Failure, "the program lacks READ on group eo-rights", "--operation READ --group eo-rights")
	b.Grant(t, "read", "topic", "rights-in")
	b.Grant(t, "write", "topic", "rights-out")
	b.Grant(t, "write", "topic", "rights-dead")
	b.Grant(t, "read", "group", "eo-rights")
	r = p.run(t)
	expect(t, r, "rights", doctor.OK)
	expect(t, r, "txn-timeout", doctor.Unknown, "do not show transaction.max.timeout.ms")
	if r.Code() != 0 {
		t.Errorf("with all rights: code %d", r.Code())
	}
	if leaks := kafkatest.Leaks(fmt.Sprint(*r)); leaks != nil {
		t.Errorf("a secret is shown: %v", leaks)
	}
	q := newPatient(t, b, "create")
	q.cfg.Settings.Brokers, q.cfg.Settings.Connection, q.cfg.Settings.CreateTopics = p.cfg.Settings.Brokers, p.cfg.Settings.Connection, true
	for _, topic := range []string{"create-in", "create-out", "create-dead"} {
		b.Grant(t, "describe", "topic", topic)
	}
	r = q.run(t)
	expect(t, r, "topics", doctor.OK, "create-in does not exist: --create-topics makes it")
	expect(t, r, "rights", doctor.Failure, "the program lacks CREATE on topic create-in", "--operation CREATE --topic create-in")
	for _, topic := range []string{"create-in", "create-out", "create-dead"} {
		b.Grant(t, "create", "topic", topic)
	}
	if r = q.run(t); strings.Contains(fmt.Sprint(r.Checks), "lacks CREATE") {
		t.Error("the right to create is still missed")
	}
	if made := b.TopicID(t, "create-in"); made != [16]byte{} {
		t.Error("asking has made the topic")
	}
}

// commit commits a marker, as a program does.
func (p *patient) commit(t *testing.T, n int64) {
	t.Helper()
	name := p.cfg.Spec.Name
	c, err := kafka.Open(t.Context(), kafka.Config{Brokers: []string{p.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.NewSink(engine.SinkConfig{
		Topics: p.cfg.Spec.Sinks, IDs: [2]string{name + "-0", name + "-1"}, Group: "eo-" + name, TxnTimeout: time.Minute, Exactly: true,
		Pipeline: name, Incarnation: checkpoint.ID{7}, Recycle: func(*record.Slab) {}, Happened: func(int, engine.Occasion, int64) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Begin(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	committable, _, err := s.Prepare(t.Context(), n, []engine.Position{{Topic: name + "-in", TopicID: p.TopicID(t, name+"-in"), Next: n}})
	if err == nil {
		err = s.Commit(t.Context(), committable)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The page about doctor lists the checks as they are made.
func TestPageListsChecks(t *testing.T) {
	page, err := os.ReadFile("../../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, c := range doctor.Misset("p", "p.eo", errors.New("wrong")).Checks {
		want = append(want, c.Check)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ").FindAllSubmatch(page[:bytes.Index(page, []byte("## What `state` shows"))], -1) {
		got = append(got, string(m[1]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/doctor.md lists %v, the checks are %v", got, want)
	}
}

// inOrder: every report has all checks, in the same order.
func inOrder(t *testing.T, r *doctor.Report) {
	t.Helper()
	var want, got []string
	for _, c := range doctor.Misset("p", "p.eo", errors.New("wrong")).Checks {
		want = append(want, c.Check)
	}
	for _, c := range r.Checks {
		if len(got) == 0 || got[len(got)-1] != c.Check {
			got = append(got, c.Check)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the checks are %v, want %v", got, want)
	}
}
