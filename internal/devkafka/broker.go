// Package devkafka is Kafka for trying a pipeline on one machine: an embedded broker in a process of its own,
// which needs Go alone, feeding of topics and watching of results. The broker (kfake) keeps everything in memory.
//
// The broker is a process of its own because pipelines are killed and started again beside it, and because it
// must never be killed itself: unlike a real one, it would lose what transactions are open.
package devkafka

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Serve runs a broker on a free port of 127.0.0.1 and prints its address, host:port, as a line to out. It
// returns when ctx ends or when in does: a parent that holds the other end of in takes the broker along when it dies.
// A line `pace DURATION` of in sets how it hands out records, see Process.Pace. It is printed to out when that is done.
// A topic that is made without a number of partitions has one, which is what Kafka's num.partitions is unless it was set.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	// Fetches that are paced sleep side by side: in order, two of them can wait for one and the same wake-up (a race in kfake's queue).
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DefaultNumPartitions(1), kfake.ClusterID(newClusterID()), kfake.SleepOutOfOrder())
	if err != nil {
		return fmt.Errorf("start the embedded broker: %w", err)
	}
	defer cluster.Close()
	pace := paced(cluster)
	if _, err := fmt.Fprintln(out, cluster.ListenAddrs()[0]); err != nil {
		return fmt.Errorf("print the embedded broker's address: %w", err)
	}
	parent := make(chan error, 1)
	go func() { parent <- obey(in, out, pace) }()
	select {
	case <-ctx.Done():
	case err = <-parent: // the end of in is nil
	}
	return err
}

// paceCommand is the first word of the line that sets the pace.
const paceCommand = "pace"

// obey does what the lines of in say, and repeats each to out when it is done, until they end.
func obey(in io.Reader, out io.Writer, pace *atomic.Int64) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		word, value, _ := strings.Cut(lines.Text(), " ")
		pause, err := time.ParseDuration(value)
		if word != paceCommand || err != nil {
			return fmt.Errorf("the embedded broker does not understand %q; expected `%s DURATION`", lines.Text(), paceCommand)
		}
		pace.Store(int64(pause))
		if _, err := fmt.Fprintln(out, lines.Text()); err != nil {
			return fmt.Errorf("say that the embedded broker has done %q: %w", lines.Text(), err)
		}
	}
	return nil // a pipe that breaks is an end, too
}

// paced has the cluster answer each fetch with one batch of records, after a pause: of 0 it does nothing. The limit is that of a partition,
// though a broker that has handed out a batch gives no second one of another partition beyond it either: behind the limit of
// a whole fetch this broker forgets to say which transactions were aborted.
func paced(cluster *kfake.Cluster) (pause *atomic.Int64) {
	pause = new(atomic.Int64)
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		wait := time.Duration(pause.Load())
		if wait <= 0 {
			return nil, nil, false
		}
		for _, topic := range request.(*kmsg.FetchRequest).Topics {
			for i := range topic.Partitions {
				topic.Partitions[i].PartitionMaxBytes = 1 // the first batch is handed out whatever its size
			}
		}
		cluster.SleepControl(func() { time.Sleep(wait) })
		return nil, nil, false
	})
	return pause
}

// newClusterID makes an id as Kafka does, 16 random bytes. Each life of a broker needs its own: producer
// ids begin anew with it, and a committable of an earlier life must not be taken for one of this.
func newClusterID() string {
	var id [16]byte
	rand.Read(id[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(id[:])
}
