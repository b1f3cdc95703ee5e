package kafkatest

import (
	"errors"
	"flag"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// Pool holds brokers that the tests of one package share, since a broker takes seconds to start:
//
//	var brokers kafkatest.Pool
//
//	func TestMain(m *testing.M) { os.Exit(brokers.Main(m)) }
//
// Tests that share a broker use topics, groups and transactional ids of their own.
type Pool struct {
	Settings map[string]string // of every broker

	mu      sync.Mutex
	running map[int]*entry

	alone   sync.Mutex // held by the test that has the cluster
	cluster *Cluster
}

type entry struct {
	once   sync.Once
	broker *Broker
	err    error
}

// Main runs the tests and ends the brokers. It returns the exit code. Most of what such tests take is waiting, for brokers and for programs, so unless
// -parallel says otherwise more of them run at a time than there are processors.
func (p *Pool) Main(m *testing.M) int {
	defer p.close()
	const atATime = 4
	if runtime.GOMAXPROCS(0) < atATime {
		if err := flag.Set("test.parallel", strconv.Itoa(atATime)); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// Broker returns the broker with a transaction.version of 1 or 2. It is started by the first test that asks.
func (p *Pool) Broker(t testing.TB, transactionVersion int) *Broker {
	t.Helper()
	p.mu.Lock()
	if p.running == nil {
		p.running = map[int]*entry{}
	}
	e := p.running[transactionVersion]
	if e == nil {
		e = new(entry)
		p.running[transactionVersion] = e
	}
	p.mu.Unlock()
	e.once.Do(func() {
		e.broker, e.err = launch(Options{TransactionVersion: transactionVersion, Settings: p.Settings})
	})
	switch {
	case errors.Is(e.err, errMissing):
		without(t, e.err)
	case e.err != nil:
		t.Fatal(e.err)
	}
	return e.broker
}

// Cluster returns a whole cluster with a transaction.version of 1 or 2. There is one at a time, and until the test ends it is that test's
// alone, which may stop and kill its nodes. It is started by the first test that asks, and anew for one that wants the other version.
func (p *Pool) Cluster(t testing.TB, transactionVersion int) *Cluster {
	t.Helper()
	p.alone.Lock()
	t.Cleanup(p.alone.Unlock)
	if p.cluster != nil && p.cluster.All.Options.TransactionVersion != transactionVersion {
		p.cluster.discard()
		p.cluster = nil
	}
	if p.cluster == nil {
		c, err := launchCluster(Options{TransactionVersion: transactionVersion, Settings: p.Settings})
		switch {
		case errors.Is(err, errMissing):
			without(t, err)
		case err != nil:
			t.Fatal(err)
		}
		p.cluster = c
	}
	p.cluster.Heal(t)
	return p.cluster
}

func (p *Pool) close() {
	if p.cluster != nil {
		p.cluster.discard()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.running {
		if e.broker != nil {
			e.broker.discard()
		}
	}
}
