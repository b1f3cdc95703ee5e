package kafka

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// behind is a bed whose cluster is behind a proxy. What the test itself asks, and what other processes do, goes past it.
func behind(t *testing.T, version int) (*bed, *faultproxy.Proxy) {
	t.Helper()
	b := newBed(t, version)
	proxy := faultproxy.Start(t, b.Addr)
	cfg := b.cluster.cfg
	cfg.Brokers = []string{proxy.Addr()}
	c, err := Open(b.ctx, cfg)
	b.must(err)
	t.Cleanup(c.Close)
	b.cluster = c
	return b, proxy
}

// eachBehind runs a test behind a proxy on Kafka with transactions V1 and V2.
func eachBehind(t *testing.T, test func(t *testing.T, b *bed, proxy *faultproxy.Proxy)) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("V%d", version), func(t *testing.T) {
			b, proxy := behind(t, version)
			test(t, b, proxy)
		})
	}
}

// ends are the requests that commit transactions.
func ends(r *faultproxy.Request) bool {
	body, err := r.Body()
	return err == nil && body.(*kmsg.EndTxnRequest).Commit
}

// endsWith answers EndTxn with a code.
func endsWith(code *kerr.Error) func(*faultproxy.Request) kmsg.Response {
	return func(*faultproxy.Request) kmsg.Response {
		answer := kmsg.NewPtrEndTxnResponse()
		answer.ErrorCode = code.Code
		return answer
	}
}

// finish does what a start does with a prepared transaction whose EndTxn was answered with the given outcome: it fences the ids, and
// looks at the marker. It says whether the transaction is committed.
func (b *bed) finish(c *Cluster, of checkpoint.Committable) bool {
	b.t.Helper()
	outcome, err := c.EndTxn(b.ctx, of)
	b.must(err)
	b.fence(c)
	m, err := c.Marker(b.ctx, b.group)
	b.must(err)
	switch {
	case m != nil && m.Checkpoint == of.Checkpoint:
		return true
	case m != nil && m.Checkpoint == of.Checkpoint-1 && outcome == engine.Undecided:
		return false
	}
	b.t.Fatalf("EndTxn of transaction %d: outcome %v, marker %+v", of.Checkpoint, outcome, m)
	return false
}

// state waits until a transactional id is in a state.
func (b *bed) state(id, want string) {
	b.t.Helper()
	for tries := 1; ; tries++ {
		got, err := b.cluster.Describe(b.ctx, id)
		b.must(err)
		if got.State == want {
			return
		}
		if !sleep(b.ctx, pause(tries)) {
			b.t.Fatalf("%s is %+v, want %q", id, got, want)
		}
	}
}

// is expects a transactional id to be in a state now.
func (b *bed) is(id, want string) {
	b.t.Helper()
	if got, err := b.cluster.Describe(b.ctx, id); err != nil || got.State != want {
		b.t.Errorf("%s is %+v, want %s: %v", id, got, want, err)
	}
}
