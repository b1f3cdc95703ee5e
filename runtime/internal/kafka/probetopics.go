package kafka

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// TopicDetails is a topic as the pre-flight checks look at it.
type TopicDetails struct {
	engine.Topic       // Partitions is 0 if the topic does not exist
	Err          error // why it is not known: the right to DESCRIBE it is missing
	Replicas     int   // fewest of a partition
	InSync       int   // fewest of a partition that are up to date
	Leaderless   []int32
	Rights       []string // operations that the program may do; nil: the cluster does not tell
	Settings     Values   // nil: the program may not see them
}

// Values are settings of a topic or of the brokers.
type Values map[string]string

// Int is a setting that is a number.
func (v Values) Int(name string) (int64, bool) {
	n, err := strconv.ParseInt(v[name], 10, 64)
	return n, err == nil
}

// Millis is a setting that is a time in milliseconds; below 0 is for ever, which ok does not cover.
func (v Values) Millis(name string) (d time.Duration, ok bool) {
	n, ok := v.Int(name)
	if !ok || n < 0 || n > int64(1<<63-1)/int64(time.Millisecond) {
		return 0, false
	}
	return time.Duration(n) * time.Millisecond, true
}

// Details describes topics by name, missing ones too.
func (c *Cluster) Details(ctx context.Context, names []string) (map[string]TopicDetails, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	listed, err := c.list(kadm.WithAuthorizedOps(ctx), names)
	if err != nil {
		return nil, c.failed(err, "describe topics %v", names)
	}
	out := make(map[string]TopicDetails, len(names))
	var visible []string
	for _, name := range names {
		d, ok := listed[name]
		switch {
		case !ok || errors.Is(d.Err, kerr.UnknownTopicOrPartition):
			out[name] = TopicDetails{}
		case d.Err != nil:
			out[name] = TopicDetails{Err: c.failed(d.Err, "describe topic %s", name)}
		default:
			out[name], visible = detailsOf(d), append(visible, name)
		}
	}
	if len(visible) == 0 {
		return out, nil
	}
	configs, err := c.admin.DescribeTopicConfigs(ctx, visible...)
	if err != nil {
		return out, nil // each topic's settings are not known
	}
	for _, config := range configs {
		if config.Err == nil {
			t := out[config.Name]
			t.Settings = values(config)
			out[config.Name] = t
		}
	}
	return out, nil
}

func detailsOf(d kadm.TopicDetail) TopicDetails {
	t := TopicDetails{Topic: engine.Topic{ID: checkpoint.ID(d.ID), Partitions: int32(len(d.Partitions))}, Rights: rights(d.AuthorizedOperations)}
	for i, p := range d.Partitions.Sorted() {
		if p.Leader < 0 {
			t.Leaderless = append(t.Leaderless, p.Partition)
		}
		if i == 0 || len(p.Replicas) < t.Replicas {
			t.Replicas = len(p.Replicas)
		}
		if i == 0 || len(p.ISR) < t.InSync {
			t.InSync = len(p.ISR)
		}
	}
	return t
}

func values(of kadm.ResourceConfig) Values {
	v := Values{}
	for _, c := range of.Configs {
		if c.Value != nil && !c.Sensitive {
			v[c.Key] = *c.Value
		}
	}
	return v
}

// BrokerSettings are the settings of one broker: they are to be the same everywhere. An error of kind failure.Cluster says that the
// program may not see them.
func (c *Cluster) BrokerSettings(ctx context.Context) (Values, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	about, err := c.admin.BrokerMetadata(ctx)
	if err != nil {
		return nil, c.failed(err, "list the brokers")
	}
	configs, err := c.admin.DescribeBrokerConfigs(ctx, about.Brokers.NodeIDs()...)
	if err != nil {
		return nil, c.failed(err, "read the settings of the brokers")
	}
	if len(configs) == 0 {
		return nil, failure.New(failure.Cluster, "ask who runs them for the limits that eoc needs: transaction.max.timeout.ms, message.max.bytes", nil, "the brokers do not show their settings")
	}
	if err := configs[0].Err; err != nil {
		return nil, c.failed(err, "read the settings of broker %s", configs[0].Name)
	}
	return values(configs[0]), nil
}

const (
	// timesLimit is how long to wait for the records at some positions.
	timesLimit = 10 * time.Second
	// timesBytes is what is fetched of a partition: one batch, whatever its size, is enough.
	timesBytes = 16 << 10
)

// Times reads the record at each position and says its Kafka timestamp. Positions with nothing behind them are left out: ends has the
// offset behind the last record of each partition.
func (c *Cluster) Times(ctx context.Context, at []engine.Position, ends map[string]map[int32]int64) (map[engine.Position]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, timesLimit)
	defer cancel()
	wanted := map[string]map[int32]engine.Position{}
	from := map[string]map[int32]kgo.Offset{}
	open := 0
	for _, p := range at {
		if p.Next >= ends[p.Topic][p.Partition] {
			continue
		}
		if wanted[p.Topic] == nil {
			wanted[p.Topic], from[p.Topic] = map[int32]engine.Position{}, map[int32]kgo.Offset{}
		}
		wanted[p.Topic][p.Partition], from[p.Topic][p.Partition] = p, kgo.NewOffset().At(p.Next)
		open++
	}
	out := map[engine.Position]time.Time{}
	if open == 0 {
		return out, nil
	}
	client, err := kgo.NewClient(append(c.options(c.txns), kgo.ConsumePartitions(from), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepControlRecords(), kgo.FetchMaxPartitionBytes(timesBytes), kgo.BrokerMaxReadBytes(answerBytes))...)
	if err != nil {
		return nil, failure.New(failure.Internal, "", err, "set up a reader")
	}
	defer client.Close()
	for open > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return out, c.failed(err, "read the first record that waits in each partition")
		}
		fetches.EachRecord(func(r *kgo.Record) {
			p, ok := wanted[r.Topic][r.Partition]
			if !ok || r.Offset < p.Next {
				return
			}
			out[p] = time.UnixMilli(millis(r.Timestamp))
			delete(wanted[r.Topic], r.Partition)
			client.PauseFetchPartitions(map[string][]int32{r.Topic: {r.Partition}})
			open--
		})
	}
	return out, nil
}
