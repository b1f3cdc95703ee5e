package kafka

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// A broker answers with a whole batch, however little was asked for, and the client does not read an answer that is larger than it may be. It says
// so of the broker, and not which partition it was. This file finds that out.

// largeAnswer is the client's error for such an answer. It has no type.
var largeAnswer = regexp.MustCompile(`invalid large response size (\d+) > limit \d+: response exceeds BrokerMaxReadBytes`)

// largeSize is how large the answer was that the client has not read; 0: err is another one.
func largeSize(err error) int {
	if err == nil {
		return 0
	}
	m := largeAnswer.FindStringSubmatch(err.Error())
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // of an int32
	return n
}

// aheadFetches is how many fetches of a partition may lie between what was polled and what the client asks for.
const aheadFetches = fetches + 1

// lostTries is how often a request is repeated whose connection is gone: an answer that is too large ends it, and with it what is asked for next.
// (Broker.RetriableRequest of the client would repeat failures to connect as well, for as long as all partitions have together.)
const lostTries = 3

// tooLarge names the batch that a broker's answer was too large for.
func (r *reader) tooLarge(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var places []fetchPlace
	r.mu.Lock()
	for p, c := range r.cursors {
		places = append(places, fetchPlace{p, c.next})
	}
	r.mu.Unlock()
	slices.SortFunc(places, func(a, b fetchPlace) int { return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.id, b.id)) })
	var names []string
	for _, p := range places {
		names = append(names, p.topic)
	}
	// Not the reader's own client: that goes on asking, and breaks its connection at each answer.
	client, err := kgo.NewClient(append(r.c.options(r.c.txns), kgo.BrokerMaxReadBytes(answerBytes))...)
	if err != nil {
		return failure.New(failure.Internal, "", err, "set up a reader")
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(ctx, slices.Compact(names)...)
	if err != nil {
		return r.c.failed(err, "find the batch of records that an answer was too large for (%v)", cause)
	}
	p, at, size, err := findLarge(ctx, client, topics, places)
	switch {
	case size > 0:
		help := fmt.Sprintf("have the producer write smaller batches, or lower max.message.bytes of the topic; to go on without these records, delete them with kafka-delete-records.sh, "+
			"which takes the offset behind them, %d if it is one record, and start with --accept-loss", at+1)
		what := fmt.Sprintf("topic %s, partition %d: the records from offset %d on are one batch of %.1f MiB, and none of more than %d MiB is read",
			p.topic, p.id, at, float64(size)/(1<<20), batchStored>>20)
		return failure.OfRecord(help, nil, what, what)
	case err != nil:
		return r.c.failed(err, "find the batch of records that an answer was too large for (%v)", cause)
	}
	return r.c.failed(cause, "read records")
}

// fetchPlace is where a partition is read next.
type fetchPlace struct {
	partition
	next int64
}

// findLarge goes through partitions to the first batch that the client does not read. size is 0 if there is none; then err is the first error, which may
// be of another partition than the one that the batch is in.
func findLarge(ctx context.Context, client *kgo.Client, topics kadm.TopicDetails, places []fetchPlace) (p fetchPlace, at int64, size int, err error) {
	for _, p := range places {
		at, size, fault := firstLarge(ctx, client, topics[p.topic], p.id, p.next)
		if size > 0 {
			return p, at, size, nil
		}
		err = cmp.Or(err, fault)
	}
	return fetchPlace{}, 0, 0, err
}

// firstLarge goes from an offset through a partition, as far as the client can have come, to a batch that the client does not read. size is 0 if there is none.
func firstLarge(ctx context.Context, client *kgo.Client, topic kadm.TopicDetail, id int32, next int64) (at int64, size int, err error) {
	detail, known := topic.Partitions[id]
	if err := cmp.Or(topic.Err, detail.Err); err != nil {
		return 0, 0, err
	}
	if !known {
		return 0, 0, kerr.UnknownTopicOrPartition
	}
	leader := client.Broker(int(detail.Leader))
	for range aheadFetches {
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes = id, next, partitionBytes
		of := kmsg.NewFetchRequestTopic()
		of.Topic, of.TopicID, of.Partitions = topic.Topic, topic.ID, append(of.Partitions, part)
		req := kmsg.NewPtrFetchRequest()
		req.MaxBytes, req.Topics = fetchBytes, append(req.Topics, of)
		answer, err := req.RequestWith(ctx, leader)
		for tries := 1; tries <= lostTries && largeSize(err) == 0 && kgo.IsRetryableBrokerErr(err) && sleep(ctx, pause(tries)); tries++ {
			answer, err = req.RequestWith(ctx, leader)
		}
		if size := largeSize(err); size > 0 {
			return next, size, nil
		}
		if err == nil {
			err = kerr.ErrorForCode(answer.ErrorCode)
		}
		if err != nil {
			return 0, 0, err
		}
		if len(answer.Topics) == 0 || len(answer.Topics[0].Partitions) == 0 {
			return 0, 0, nil
		}
		found := answer.Topics[0].Partitions[0]
		if err := kerr.ErrorForCode(found.ErrorCode); err != nil {
			return 0, 0, err
		}
		end := lastOf(found.RecordBatches) + 1
		if end <= next {
			return 0, 0, nil
		}
		next = end
	}
	return 0, 0, nil
}

// lastOf is the last offset of the whole batches in an answer; -1: there are none.
func lastOf(batches []byte) int64 {
	const lengthAt, countedFrom, lastAt, headBytes = 8, 12, 23, 27 // in a batch: its length, what that counts, and by how much its last offset is above its first
	last := int64(-1)
	for len(batches) >= headBytes {
		length := countedFrom + int(binary.BigEndian.Uint32(batches[lengthAt:]))
		if length < headBytes || length > len(batches) {
			break
		}
		last = int64(binary.BigEndian.Uint64(batches)) + int64(binary.BigEndian.Uint32(batches[lastAt:]))
		batches = batches[length:]
	}
	return last
}
