package faultproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const testTimeout = 5 * time.Minute // of what a test waits for

// stand is a broker that counts, and the proxy before it.
type stand struct {
	*Proxy
	t    *testing.T
	ctx  context.Context
	fake *kfake.Cluster
	seen *kfake.FaultHandle // requests to list groups that reach the broker
}

func newStand(t *testing.T) *stand {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	s := &stand{t: t, ctx: ctx, fake: fake, Proxy: Start(t, fake.ListenAddrs()...)}
	s.seen = fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, When: func(kmsg.Request) bool { return true }, TopLevel: true, Observe: true, Count: -1})
	return s
}

// caller is a client of which each byte is the test's.
type caller struct {
	*stand
	net.Conn
	id int32
}

func (s *stand) call() *caller {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return &caller{stand: s, Conn: conn}
}

// send sends a request to list groups, and says how its answer is read.
func (c *caller) send() func() error {
	c.t.Helper()
	c.id++
	req := kmsg.NewPtrListGroupsRequest()
	req.Version = 4
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("caller")).AppendRequest(nil, req, c.id)
	if _, err := c.Write(frame); err != nil {
		c.t.Fatal(err)
	}
	asked := &Request{Key: kmsg.ListGroups, Version: req.Version}
	return func() error {
		f, err := readFrame(c, answerHead)
		if err != nil {
			return err
		}
		answer, err := asked.decode(f)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(answer.(*kmsg.ListGroupsResponse).ErrorCode)
	}
}

// silent expects that no answer is there although everything behind it has been done.
func (c *caller) silent() {
	c.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("read %v, want silence", err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		c.t.Fatal(err)
	}
}

// reach expects that the broker gets so many requests in all.
func (s *stand) reach(n int) {
	s.t.Helper()
	if err := s.seen.Wait(s.ctx, n); err != nil {
		s.t.Fatalf("the broker has got %d requests, want %d", s.seen.Hits(), n)
	}
	if got := s.seen.Hits(); got != n {
		s.t.Fatalf("the broker has got %d requests, want %d", got, n)
	}
}

func (s *stand) released(a *Armed, answers int) {
	s.t.Helper()
	got, err := a.Release(s.ctx)
	if err != nil || len(got) != answers {
		s.t.Fatalf("%d answers to what was released, want %d: %v", len(got), answers, err)
	}
	for _, answer := range got {
		if err := kerr.ErrorForCode(answer.(*kmsg.ListGroupsResponse).ErrorCode); err != nil {
			s.t.Fatal(err)
		}
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// broken expects that a connection has ended.
func broken(t *testing.T, err error) {
	t.Helper()
	var op *net.OpError
	if !errors.Is(err, io.EOF) && !errors.As(err, &op) {
		t.Fatalf("%v, want a connection that breaks", err)
	}
}

func busy(*Request) kmsg.Response {
	answer := kmsg.NewPtrListGroupsResponse()
	answer.ErrorCode = kerr.CoordinatorLoadInProgress.Code
	return answer
}

// Each deed does to a request what it says, and nothing to the one before it.
func TestDeeds(t *testing.T) {
	for name, test := range map[string]struct {
		fault Fault
		then  func(t *testing.T, s *stand, c *caller, a *Armed)
	}{
		"pass": {Fault{Do: Pass}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			ok(t, c.send()())
			a.Await(t)
			s.reach(2)
		}},
		"cut": {Fault{Do: Cut}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			broken(t, c.send()())
			a.Await(t)
			s.reach(1)
			ok(t, s.call().send()())
			s.reach(2)
		}},
		"lose": {Fault{Do: Lose}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			broken(t, c.send()())
			a.Await(t)
			s.reach(2)
		}},
		"drop": {Fault{Do: Drop}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			c.send()
			c.send()
			a.Await(t)
			s.reach(2)
			c.silent()
		}},
		"mute": {Fault{Do: Mute}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			c.send()
			c.send()
			a.Await(t)
			s.reach(3)
			c.silent()
		}},
		"hold": {Fault{Do: Hold}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			one, two := c.send(), c.send()
			a.Await(t)
			ok(t, s.call().send()()) // on other connections all goes on
			c.silent()
			s.reach(2)
			s.released(a, 0)
			ok(t, one())
			ok(t, two())
			s.reach(4)
		}},
		"hold, and the sender gives up": {Fault{Do: Hold}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			c.send()
			a.Await(t)
			ok(t, c.Close())
			s.released(a, 0)
			s.reach(2)
		}},
		"hold for a while": {Fault{Do: Hold, For: time.Millisecond}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			ok(t, c.send()())
			s.reach(2)
		}},
		"strand": {Fault{Do: Strand}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			broken(t, c.send()())
			a.Await(t)
			s.reach(1)
			s.released(a, 1)
			s.reach(2)
			s.released(a, 0)
		}},
		"repeat": {Fault{Do: Repeat}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			ok(t, c.send()())
			a.Await(t)
			s.reach(2)
			s.released(a, 1)
			s.reach(3)
			ok(t, c.send()())
		}},
		"answer": {Fault{Do: Answer, Answer: busy}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			if err := c.send()(); !errors.Is(err, kerr.CoordinatorLoadInProgress) {
				t.Fatal(err)
			}
			a.Await(t)
			s.reach(1)
			ok(t, c.send()())
		}},
		"forge": {Fault{Do: Forge, Answer: busy}, func(t *testing.T, s *stand, c *caller, a *Armed) {
			if err := c.send()(); !errors.Is(err, kerr.CoordinatorLoadInProgress) {
				t.Fatal(err)
			}
			a.Await(t)
			s.reach(2)
			ok(t, c.send()())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			c := s.call()
			ok(t, c.send()())
			test.fault.Key = kmsg.ListGroups
			test.then(t, s, c, s.Arm(test.fault))
		})
	}
}

// A fault is done to the requests that it names, and to no others.
func TestWhichRequests(t *testing.T) {
	s := newStand(t)
	one, two := s.call(), s.call()
	ok(t, one.send()())
	ok(t, two.send()())
	try := func(a *Armed, want ...bool) {
		t.Helper()
		for i, hit := range want {
			c := one
			if i%2 == 1 {
				c = two
			}
			if err := c.send()(); errors.Is(err, kerr.CoordinatorLoadInProgress) != hit {
				t.Errorf("request %d: %v, want it met: %v", i, err, hit)
			}
		}
		a.Disarm()
	}
	const no, yes = false, true
	for name, c := range map[string]struct {
		fault Fault
		want  []bool
	}{
		"the first":            {Fault{Key: kmsg.ListGroups}, []bool{yes, no, no}},
		"the third":            {Fault{Key: Any, Nth: 3}, []bool{no, no, yes, no}},
		"two from the second":  {Fault{Key: Any, Nth: 2, Count: 2}, []bool{no, yes, yes, no}},
		"all":                  {Fault{Key: Any, Count: -1}, []bool{yes, yes, yes, yes}},
		"another kind":         {Fault{Key: kmsg.EndTxn, Count: -1}, []bool{no, no}},
		"one connection":       {Fault{Key: Any, Conn: 2, Count: -1}, []bool{no, yes, no, yes}},
		"by what it is":        {Fault{Key: Any, Count: -1, When: func(r *Request) bool { return r.ClientID == "caller" && r.Version == 4 }}, []bool{yes, yes}},
		"by what it is not":    {Fault{Key: Any, Count: -1, When: func(r *Request) bool { return r.ClientID == "other" }}, []bool{no, no}},
		"by what stands in it": {Fault{Key: Any, Count: -1, When: lists("Dead")}, []bool{no, no}},
		"by what it says":      {Fault{Key: Any, Count: -1, When: lists()}, []bool{yes, yes}},
	} {
		t.Run(name, func(t *testing.T) {
			c.fault.Do, c.fault.Answer = Answer, busy
			a := s.Arm(c.fault)
			try(a, c.want...)
			hits := 0
			for _, hit := range c.want {
				if hit {
					hits++
				}
			}
			if a.Hits() != hits {
				t.Errorf("%d hits, want %d", a.Hits(), hits)
			}
			select {
			case <-a.Done:
				if c.fault.Count < 0 || hits == 0 {
					t.Error("it is done")
				}
			default:
				if c.fault.Count >= 0 && hits > 0 {
					t.Error("it is not done")
				}
			}
		})
	}
}

// lists says whether a request asks for groups in those states.
func lists(states ...string) func(*Request) bool {
	return func(r *Request) bool {
		body, err := r.Body()
		return err == nil && slices.Equal(body.(*kmsg.ListGroupsRequest).StatesFilter, states)
	}
}

// The first fault that was armed and has not been done comes first. What is done is forgotten: who arms thousands, one after the other, does not
// make requests slow.
func TestOrderOfFaults(t *testing.T) {
	s := newStand(t)
	first, second := s.Arm(Fault{Key: Any, Count: 2}), s.Arm(Fault{Key: Any, Count: 2})
	c := s.call()
	for range 3 {
		ok(t, c.send()())
	}
	if first.Hits() != 2 || second.Hits() != 1 {
		t.Errorf("%d and %d hits, want 2 and 1", first.Hits(), second.Hits())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.armed, []*Armed{second}) {
		t.Errorf("%d faults are armed, want the second", len(s.armed))
	}
}

// An answer of the proxy's own waits for those of the broker that come before it: clients take them in the order of their requests.
func TestOrderOfAnswers(t *testing.T) {
	s := newStand(t)
	s.Arm(Fault{Key: Any, Nth: 2, Do: Answer, Answer: busy})
	c := s.call()
	gate := make(chan struct{})
	s.fake.ControlKey(kmsg.ListGroups.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.SleepControl(func() { <-gate })
		return nil, nil, false
	})
	one, two := c.send(), c.send()
	c.silent()
	close(gate)
	ok(t, one())
	if err := two(); !errors.Is(err, kerr.CoordinatorLoadInProgress) {
		t.Fatal(err)
	}
}

// A client that was given the proxy's address stays with it: it writes a record in a transaction and reads it, and when the proxy is
// gone it reaches nobody.
func TestClientStays(t *testing.T) {
	s := newStand(t)
	seen := s.Arm(Fault{Key: Any, Count: -1})
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Addr()), kgo.TransactionalID("x"), kgo.DefaultProduceTopic("t"), kgo.ConsumeTopics("t"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RequestRetries(1))
	ok(t, err)
	defer client.Close()
	ok(t, client.BeginTransaction())
	ok(t, client.ProduceSync(s.ctx, kgo.StringRecord("v")).FirstErr())
	ok(t, client.EndTransaction(s.ctx, kgo.TryCommit))
	got := client.PollFetches(s.ctx)
	ok(t, got.Err())
	if records := got.Records(); len(records) != 1 || string(records[0].Value) != "v" {
		t.Errorf("read %v", records)
	}
	keys := map[int]bool{}
	for _, n := range seen.Conns() {
		keys[n] = true
	}
	if len(keys) < 3 { // one for what is asked first, one to write, one to read
		t.Errorf("%d connections through the proxy", len(keys))
	}
	s.close()
	if err := client.Ping(s.ctx); err == nil {
		t.Error("a client reaches a broker past the proxy")
	}
}
