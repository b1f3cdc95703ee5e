package kafkatest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Throttle lets a client, by its id, produce so many bytes a second: the broker answers the later.
func (b *Broker) Throttle(t testing.TB, client string, perSecond float64) {
	t.Helper()
	answers, err := kadm.NewClient(b.client).AlterClientQuotas(call(t), []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &client}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: perSecond}},
	}})
	for _, a := range answers {
		if err == nil {
			err = a.Err
		}
	}
	if err != nil {
		t.Fatalf("throttle client %s: %v", client, err)
	}
}
