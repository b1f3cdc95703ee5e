package kafka

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/eoc-lang/eoc/runtime/internal/failpoint"
)

const (
	// A client asks for metadata at most this often. The default of 5 s makes each move of a leader cost 10 s.
	metadataMinAge = 100 * time.Millisecond
	// Requests are sent again after a pause that doubles between these. The callers' deadlines end it.
	firstPause     = 5 * time.Millisecond
	longestPause   = 250 * time.Millisecond
	requestRetries = 1000
	dialTimeout    = 5 * time.Second
)

// options are those of every client. A client for transactions V1 is held to the versions of requests that
// V1 has, since a broker that speaks V2 offers the newer ones even while V2 is switched off.
func (c *Cluster) options(end int16) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.cfg.Brokers...),
		kgo.ClientID(c.cfg.ClientID),
		kgo.SoftwareNameAndVersion("eoc", "1"),
		kgo.WithLogger(logger{c.log}),
		kgo.WithHooks(&c.dial),
		kgo.DialTimeout(dialTimeout),
		kgo.MetadataMinAge(metadataMinAge),
		kgo.RetryBackoffFn(pause),
		kgo.RequestRetries(requestRetries),
		kgo.ConcurrentTransactionsBackoff(firstPause),
		// Without it the client takes a broker that hangs up at the first request for one that wants TLS, and gives up although others
		// answer. Whether it wants TLS was found out before (knock).
		kgo.AlwaysRetryEOF(),
	}
	opts = append(opts, c.protection()...)
	if failpoint.Enabled {
		opts = append(opts, kgo.WithHooks(&c.sent))
	}
	if end == endV1 {
		versions := kversion.Stable()
		versions.SetMaxKeyVersion(kmsg.Produce.Int16(), 11)
		versions.SetMaxKeyVersion(kmsg.EndTxn.Int16(), endV1)
		versions.SetMaxKeyVersion(kmsg.TxnOffsetCommit.Int16(), 4)
		opts = append(opts, kgo.MaxVersions(versions))
	}
	return opts
}

// pause is how long to wait before a try after fails failed ones.
func pause(fails int) time.Duration {
	const doublings = 6
	return min(firstPause<<min(max(fails-1, 0), doublings), longestPause)
}

// sleep waits before another try, and says whether the context still wants it.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// dialWatch keeps the last failure to connect, and says once that there is one and once that it is over. The client tries again
// by itself until the caller's deadline, and then reports the deadline only.
type dialWatch struct {
	log     *slog.Logger
	failure atomic.Pointer[unreachable]
}

// unreachable is a broker that cannot be connected to.
type unreachable struct {
	addr string
	err  error
}

var _ kgo.HookBrokerConnect = (*dialWatch)(nil)

// OnBrokerConnect is called by the client after each try to connect.
func (d *dialWatch) OnBrokerConnect(to kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	addr := net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	if err == nil {
		if d.failure.Swap(nil) != nil {
			d.log.Info("connected to Kafka again", "broker", addr)
		}
		return
	}
	if d.failure.Swap(&unreachable{addr, err}) == nil {
		d.log.Warn("cannot connect to Kafka; trying again until it answers", "broker", addr, "error", err)
	}
}

// last is the broker that could not be connected to, nil if the last try succeeded.
func (d *dialWatch) last() *unreachable { return d.failure.Load() }

// dieAfterSend is the crash point between sending EndTxn and its answer, which no other code sees. It is armed
// by a sink's commit, so that start-up, which sends EndTxn too, does not pass it.
type dieAfterSend struct{ armed atomic.Bool }

var _ kgo.HookBrokerWrite = (*dieAfterSend)(nil)

// OnBrokerWrite is called by the client after each request.
func (d *dieAfterSend) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key == kmsg.EndTxn.Int16() && err == nil && d.armed.Load() {
		failpoint.Hit(failpoint.AfterEndTxnSent)
	}
}

// logger passes on what the client has to say. Its warnings are debug messages here: it warns of each try, while what becomes of
// the call is reported by whoever made it.
type logger struct{ to *slog.Logger }

func (l logger) Level() kgo.LogLevel {
	switch ctx := context.Background(); {
	case l.to.Enabled(ctx, slog.LevelDebug):
		return kgo.LogLevelInfo
	case l.to.Enabled(ctx, slog.LevelError):
		return kgo.LogLevelError
	default:
		return kgo.LogLevelNone
	}
}

func (l logger) Log(level kgo.LogLevel, text string, keyvals ...any) {
	to := slog.LevelDebug
	if level == kgo.LogLevelError {
		to = slog.LevelError
	}
	l.to.Log(context.Background(), to, "kafka client: "+text, keyvals...)
}
