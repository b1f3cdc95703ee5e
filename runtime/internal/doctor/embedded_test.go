package doctor_test

import (
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/runtime/internal/doctor"
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

// TestUnnamedBrokers: who has named no brokers is told which ones are asked, whether they answer or not.
func TestUnnamedBrokers(t *testing.T) {
	p := newPatient(t, kafkatest.StartLiar(t).Broker, "unnamed")
	p.cfg.Settings.Unnamed = "--brokers or EO_BROKERS"
	expect(t, p.run(t), "brokers", doctor.OK, p.Addr+" answers in ", "it is the default, since nobody has named the brokers")
	p.cfg.Settings.Brokers = []string{"127.0.0.1:1"}
	expect(t, p.run(t), "brokers", doctor.Failure, "cannot reach Kafka at 127.0.0.1:1", "nobody has named the brokers, and 127.0.0.1:1 is the default: name yours with --brokers or EO_BROKERS")
}
