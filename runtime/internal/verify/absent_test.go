package verify

import (
	"errors"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
)

// TestTopicMadeAgain: what was written to a topic that is gone cannot be compared, which is said with what to do. Once the program has run with the topic
// that was made in its place, with as many partitions or fewer, it does not hold up the verdict any more.
func TestTopicMadeAgain(t *testing.T) {
	old, made := checkpoint.ID{1}, checkpoint.ID{2}
	before := []checkpoint.Output{{Topic: "out", TopicID: old, Tally: checkpoint.Tally{Records: 7}}, {Topic: "out", TopicID: old, Partition: 1, Tally: checkpoint.Tally{Records: 7}}}
	after := append(before[:2:2], checkpoint.Output{Topic: "out", TopicID: made})
	seen := func(id checkpoint.ID, partitions int32) (t kafka.TopicDetails) {
		t.ID, t.Partitions = id, partitions
		return t
	}
	for name, c := range map[string]struct {
		outputs []checkpoint.Output
		topic   kafka.TopicDetails
		want    Verdict
		sum     Verdict
		text    string
	}{
		"the same":                  {before, seen(old, 2), "", Holds, ""},
		"gone":                      {before, kafka.TopicDetails{}, Unknown, Unknown, "does not exist any more, and with it 7 records"},
		"not seen":                  {before, kafka.TopicDetails{Err: errors.New("no right")}, Unknown, Unknown, "no right"},
		"made again, not yet known": {before, seen(made, 1), Unknown, Unknown, "deleted and made again: 7 records"},
		"made again, known":         {after, seen(made, 1), Unchecked, Holds, "7 records that were written to the one before (id " + old.String() + ")"},
		"made again twice":          {after, seen(checkpoint.ID{3}, 1), Unknown, Unknown, "deleted and made again: 7 records"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &auditor{cp: &checkpoint.Checkpoint{Account: &checkpoint.Account{Outputs: c.outputs}}, report: &Report{}}
			for _, of := range before {
				o := &output{Output: of}
				absent := a.absent(o, c.topic)
				if absent != (c.want != "") || o.sink.Verdict != c.want || !strings.Contains(o.sink.Text, c.text) || (c.want == Unknown) != (o.sink.Help != "") {
					t.Errorf("%d: %v, %+v", of.Partition, absent, o.sink)
				}
				a.report.Sinks = append(a.report.Sinks, o.sink)
			}
			if got := a.report.sum().Verdict; got != c.sum {
				t.Errorf("verdict %s, want %s", got, c.sum)
			}
		})
	}
}
