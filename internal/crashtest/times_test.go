//go:build unix

package crashtest

import (
	"os"
	"path/filepath"
	"testing"
)

// extremes has a source for each way in which a record gets its times.
const extremes = `
type Text { at: timestamp  seen: timestamp }
type Seconds { at: timestamp(s) }
type Millis { at: timestamp(ms) }
type Micros { at: timestamp(us) }

source texts: Text from kafka("texts") { time at  watermark 5s  on_error skip }
source seen: Text from kafka("seen") { watermark 5s  on_error skip }
source later: Text from kafka("later") { time at + 1d  watermark 5s  on_error skip }
source seconds: Seconds from kafka("seconds") { time at  watermark 5s  on_error skip }
source millis: Millis from kafka("millis") { time at  watermark 5s  on_error skip }
source micros: Micros from kafka("micros") { time at  watermark 5s  skew never  on_error skip }

stream by_text { from texts  window tumbling 1m late to late_texts  aggregate n = count()  to kafka("texts.out") }
stream by_seen { from seen  window tumbling 1m late to late_texts  aggregate n = count()  to kafka("seen.out") }
stream by_later { from later  window tumbling 1m late to late_texts  aggregate n = count()  to kafka("later.out") }
stream by_seconds { from seconds  window tumbling 1m late to late_seconds  aggregate n = count()  to kafka("seconds.out") }
stream by_millis { from millis  window tumbling 1m late to late_millis  aggregate n = count()  to kafka("millis.out") }
stream by_micros { from micros  window tumbling 1m late to late_micros  aggregate n = count()  to kafka("micros.out") }

sink late_texts to kafka("late.texts")
sink late_seconds to kafka("late.seconds")
sink late_millis to kafka("late.millis")
sink late_micros to kafka("late.micros")
`

// Where the times of the data lie, and whether Kafka can say them, the program and the interpreter of plans see the same.
func TestExtremeTimes(t *testing.T) {
	o := options(t, "extremes", extremes)
	o.Data, o.Partitions, o.Parallelism, o.Only = t.TempDir(), 1, []int{1}, Schedule{}
	o.Time = map[string]string{"seen": "seen"}
	const texts = `{"at":"2026-01-01T12:00:00Z","seen":"2026-01-01T12:00:00Z"}
{"at":"9999-12-31T23:59:59.999999Z","seen":"9999-12-31T23:59:59.999999Z"}
{"at":"2262-04-11T23:47:16.854Z","seen":"2262-04-11T23:47:16.855Z"}
{"at":"0001-01-01T00:00:00Z","seen":"0001-01-01T00:00:00Z"}
{"at":"0001-01-01T00:00:01Z","seen":"0001-01-01T00:00:01Z"}
{"at":"1677-09-21T00:12:43Z","seen":"1677-09-21T00:12:43Z"}
{"at":"1969-12-31T23:59:59.999Z","seen":"1969-12-31T23:59:59.999Z"}
{"at":"1970-01-01T00:00:00Z","seen":"1970-01-01T00:00:00Z"}
{"at":"2026-01-01T12:01:05Z","seen":"2026-01-01T12:01:05Z"}
`
	data := map[string]string{
		"texts": texts, "seen": texts, "later": texts,
		"seconds": "{\"at\":1767268800}\n{\"at\":253402300799}\n{\"at\":-62135596800}\n{\"at\":9223372036}\n{\"at\":9223372037}\n{\"at\":-1}\n{\"at\":0}\n{\"at\":1767268865}\n",
		"millis":  "{\"at\":1767268800000}\n{\"at\":253402300799999}\n{\"at\":-62135596800000}\n{\"at\":9223372036854}\n{\"at\":9223372036855}\n{\"at\":-1}\n{\"at\":0}\n{\"at\":1767268865000}\n",
		"micros":  "{\"at\":1767268800000000}\n{\"at\":253402300799999999}\n{\"at\":-62135596800000000}\n{\"at\":-1}\n{\"at\":9223372036854775807}\n{\"at\":1767268865000000}\n",
	}
	for topic, lines := range data {
		if err := os.WriteFile(filepath.Join(o.Data, topic+".jsonl"), []byte(lines), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if said := text(t, r); !r.Passed() {
		t.Error(said)
	}
	if len(r.Runs) != 1 || len(r.Outputs) != 10 {
		t.Errorf("%d runs, outputs %v", len(r.Runs), r.Outputs)
	}
	for _, out := range r.Outputs {
		if out.Records == 0 {
			t.Errorf("nothing comes to %s", out.Topic)
		}
	}
}
