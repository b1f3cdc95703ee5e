package faultproxy

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListOffsets is the request for offsets, last stable ones among them.
const ListOffsets = kmsg.ListOffsets

// AsksStable says whether a request is for last stable offsets (https://kafka.apache.org/protocol#The_Messages_ListOffsets: isolation_level 1).
func AsksStable(r *Request) bool {
	const readCommitted = 1
	body, err := r.Body()
	asked, ok := body.(*kmsg.ListOffsetsRequest)
	return err == nil && ok && asked.IsolationLevel == readCommitted
}

// NotLeader answers a request for offsets as a broker that leads none of the partitions.
func NotLeader(r *Request) kmsg.Response {
	return Offsets(r, func(p *kmsg.ListOffsetsResponseTopicPartition) { p.ErrorCode = kerr.NotLeaderForPartition.Code })
}

// Offsets answers a request for offsets, with set for each partition.
func Offsets(r *Request, set func(*kmsg.ListOffsetsResponseTopicPartition)) kmsg.Response {
	answer := kmsg.NewPtrListOffsetsResponse()
	body, err := r.Body()
	if err != nil {
		return answer // to nothing; its sender will say so
	}
	for _, asked := range body.(*kmsg.ListOffsetsRequest).Topics {
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = asked.Topic
		for _, p := range asked.Partitions {
			partition := kmsg.NewListOffsetsResponseTopicPartition()
			partition.Partition = p.Partition
			set(&partition)
			topic.Partitions = append(topic.Partitions, partition)
		}
		answer.Topics = append(answer.Topics, topic)
	}
	return answer
}
