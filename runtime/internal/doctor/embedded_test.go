package doctor_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/doctor"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
)

// TestEmbeddedBroker asks a broker that shows no internal topics about a pipeline that has a marker.
func TestEmbeddedBroker(t *testing.T) {
	b := kafkatest.StartLiar(t)
	p := newPatient(t, b.Broker, "embedded")
	p.topics(t)
	r := p.run(t)
	expect(t, r, "group", doctor.OK, "no group was ever used in this cluster")
	for _, c := range r.Checks {
		if strings.Contains(c.Text, "the default") {
			t.Errorf("brokers that were named are called the default: %+v", c)
		}
	}
	expect(t, r, "transactional-ids", doctor.OK, "no transaction was ever made in this cluster")
	p.commit(t, 4)
	r = p.run(t)
	expect(t, r, "group", doctor.OK, "consumer group eo-embedded holds the marker of checkpoint 4, 0 records")
	expect(t, r, "transactional-ids", doctor.OK, "embedded-0: ")
	expect(t, r, "start", doctor.Failure, "--fresh")
	if r.Code() != 5 {
		t.Errorf("code %d", r.Code())
	}
}

// TestUntil: what --until does to a start, and that it does nothing to a state whose run has no end. What is behind an end is not waited for.
func TestUntil(t *testing.T) {
	b := kafkatest.StartLiar(t).Broker
	p := newPatient(t, b, "until")
	p.cfg.Spec.Sinks[0].Deliver, p.cfg.Spec.Sinks[1].Deliver = engine.AtLeastOnce, engine.AtLeastOnce
	p.cfg.Settings.Until, p.cfg.Settings.CreateTopics = settings.Until{Latest: true}, true
	expect(t, p.run(t), "start", doctor.OK, "begins a new state, and ends for good at what the topics hold by then (--until latest)")
	p.topics(t)
	for second := range int64(5) {
		p.Produce(t, "until-in", kafkatest.Record{Value: []byte("{}"), Time: time.Unix(1700000000+second, 0)})
	}
	r := p.run(t)
	expect(t, r, "settings", doctor.OK, "until latest")
	expect(t, r, "start", doctor.OK, "it begins a new state, and ends for good at what the topics hold by then (--until latest)")
	expect(t, r, "input", doctor.OK, "until-in: 5 offsets wait")
	p.cfg.Settings.Until = settings.Until{Time: time.Unix(1700000003, 0).UTC()}
	r = p.run(t)
	expect(t, r, "start", doctor.OK, "in front of the first record of each partition with the Kafka time 2023-11-14T22:13:23Z or a later one (--until)")
	expect(t, r, "input", doctor.OK, "until-in: 3 offsets wait")

	p.save(t, 2, 1, nil)
	r = p.run(t)
	expect(t, r, "start", doctor.Warning, "--until changes nothing", "take another --name and --state")
	expect(t, r, "start", doctor.OK, "it goes on from checkpoint 2")
	expect(t, r, "input", doctor.Warning, "until-in: 4 offsets wait")
	p.cfg.Settings.Until = settings.Until{}
	if slices.ContainsFunc(p.run(t).Checks, func(c doctor.Check) bool { return strings.Contains(c.Text, "--until") }) {
		t.Error("it speaks of --until, which is not given")
	}

	p.cfg.Settings.Until, p.bound = settings.Until{Latest: true}, 3
	p.cfg.Settings.StateDir = filepath.Join(t.TempDir(), "state")
	p.save(t, 2, 1, nil)
	r = p.run(t)
	expect(t, r, "start", doctor.OK, "it goes on from checkpoint 2, up to the end that was fixed at its first start")
	expect(t, r, "input", doctor.Warning, "until-in: 2 offsets wait")
	if slices.ContainsFunc(r.Checks, func(c doctor.Check) bool { return strings.Contains(c.Text, "changes nothing") }) {
		t.Error("an end that was fixed is called none")
	}

	p.bound = 5
	p.cfg.Settings.StateDir = filepath.Join(t.TempDir(), "state")
	p.save(t, 2, 5, func(c *checkpoint.Checkpoint) { c.Ended = c.Number == 2 })
	r = p.run(t)
	expect(t, r, "start", doctor.OK, "it has nothing to do: the bounded run has finished")
	expect(t, r, "input", doctor.OK, "nothing is read any more")
	expect(t, r, "retention", doctor.OK, "nothing is written any more")
}

// TestNoMarker: a pipeline without exactly_once sinks has no marker, and nothing is amiss.
func TestNoMarker(t *testing.T) {
	p := newPatient(t, kafkatest.StartLiar(t).Broker, "markerless")
	p.topics(t)
	p.commit(t, 4) // by another pipeline, so that there are groups
	p.cfg.Spec.Name, p.cfg.Settings.Name = "other", "other"
	for i := range p.cfg.Spec.Sinks {
		p.cfg.Spec.Sinks[i].Deliver = engine.AtLeastOnce
	}
	expect(t, p.run(t), "group", doctor.OK, "no sink is exactly_once: there is no marker in consumer group eo-other, and none is needed")
}

// TestUnnamedBrokers: who has named no brokers is told which ones are asked, whether they answer or not.
func TestUnnamedBrokers(t *testing.T) {
	p := newPatient(t, kafkatest.StartLiar(t).Broker, "unnamed")
	p.cfg.Settings.Unnamed = "--brokers or EO_BROKERS"
	expect(t, p.run(t), "brokers", doctor.OK, p.Addr+" answers in ", "it is the default, since nobody has named the brokers")
	p.cfg.Settings.Brokers = []string{"127.0.0.1:1"}
	expect(t, p.run(t), "brokers", doctor.Failure, "cannot reach Kafka at 127.0.0.1:1", "nobody has named the brokers, and 127.0.0.1:1 is the default: name yours with --brokers or EO_BROKERS")
}
