package devkafka

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker that is paced hands out one batch at a time, in order; then as many as it can.
func TestPace(t *testing.T) {
	t.Setenv("DEVKAFKA_TEST_AS", "broker")
	p, err := Start(t.Context(), os.Stderr, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	ctx := within(t)
	c := dial(t, p.Addr)
	if err := c.CreateTopics(ctx, 1, "orders"); err != nil {
		t.Fatal(err)
	}
	const batches, each = 10, 3
	for i := range batches {
		var records []Record
		for j := range each {
			records = append(records, Record{Value: []byte(fmt.Sprint(i*each + j))})
		}
		if err := c.Send(ctx, "orders", records); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Pace(5 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	w, err := Watch(p.Addr, "orders")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	largest, got := 0, 0
	for got < batches*each {
		records, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if string(r.Value) != fmt.Sprint(got) {
				t.Fatalf("record %d is %s", got, r.Value)
			}
			got++
		}
		largest = max(largest, len(records))
	}
	if largest > batches*each/2 {
		t.Errorf("%d records came at once", largest)
	}
	if err := p.Pace(0); err != nil {
		t.Fatal(err)
	}
	again, err := Watch(p.Addr, "orders")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if all, err := again.Rest(ctx); err != nil || len(all) != batches*each {
		t.Errorf("without a pace: %d records (%v)", len(all), err)
	}
}

// What was aborted is hidden from readers that are paced, too.
func TestPacedReadersSeeWhatIsCommitted(t *testing.T) {
	t.Setenv("DEVKAFKA_TEST_AS", "broker")
	p, err := Start(t.Context(), os.Stderr, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	ctx := within(t)
	if err := dial(t, p.Addr).CreateTopics(ctx, 2, "totals"); err != nil {
		t.Fatal(err)
	}
	producer, err := kgo.NewClient(kgo.SeedBrokers(p.Addr), kgo.TransactionalID("test"), kgo.DefaultProduceTopic("totals"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for i := range 6 {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		how, value := kgo.TryCommit, "committed"
		if i%2 == 0 {
			how, value = kgo.TryAbort, "aborted"
		}
		for partition := range int32(2) {
			for range 3 { // three batches
				if err := producer.ProduceSync(ctx, &kgo.Record{Partition: partition, Value: []byte(value)}).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := producer.EndTransaction(ctx, how); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Pace(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	w, err := Watch(p.Addr, "totals")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	got, err := w.Rest(ctx)
	if err != nil || len(got) != 18 {
		t.Errorf("%d records (%v), want 18", len(got), err)
	}
	for _, r := range got {
		if string(r.Value) != "committed" {
			t.Errorf("partition %d, offset %d is %s", r.Partition, r.Offset, r.Value)
		}
	}
}

// A line that it does not understand ends the broker with an error: who sent it wanted something.
func TestBrokerRefusesOtherLines(t *testing.T) {
	for _, line := range []string{"pace", "pace soon", "stop"} {
		var out strings.Builder
		if err := Serve(t.Context(), strings.NewReader(line+"\n"), &out); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", line)) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Partition foretells where a record with a key goes.
func TestPartition(t *testing.T) {
	addr := start(t)
	ctx := within(t)
	c := dial(t, addr)
	if err := c.CreateTopics(ctx, 5, "orders"); err != nil {
		t.Fatal(err)
	}
	var records []Record
	for i := range 50 {
		records = append(records, Record{Partition: ByKey, Key: []byte(fmt.Sprint("key-", i)), Value: []byte("x")})
	}
	if err := c.Send(ctx, "orders", records); err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if want := Partition(r.Key, 5); r.Partition != want {
			t.Errorf("key %s is in partition %d, and was foretold in %d", r.Key, r.Partition, want)
		}
	}
}

// Records without a key go to the partitions in turn, also if they are sent one by one.
func TestWithoutKey(t *testing.T) {
	addr := start(t)
	ctx := within(t)
	c := dial(t, addr)
	if err := c.CreateTopics(ctx, 3, "orders"); err != nil {
		t.Fatal(err)
	}
	var went []int32
	for range 4 {
		records := []Record{{Partition: ByKey}, {Partition: ByKey, Key: []byte("u1")}, {Partition: ByKey, Value: []byte("x")}}
		if err := c.Send(ctx, "orders", records); err != nil {
			t.Fatal(err)
		}
		went = append(went, records[0].Partition, records[2].Partition)
	}
	if want := []int32{0, 1, 2, 0, 1, 2, 0, 1}; !slices.Equal(went, want) {
		t.Errorf("they went to %v, want %v", went, want)
	}
}

// In both versions an open transaction is seen and can be aborted; what it has written is hidden before, and gone after.
func TestTransactions(t *testing.T) {
	for _, version := range []int16{1, 2} {
		addr := start(t)
		ctx := within(t)
		c := dial(t, addr)
		if err := c.SetTransactionVersion(ctx, version); err != nil {
			t.Fatal(err)
		}
		request := kmsg.NewPtrApiVersionsRequest()
		request.ClientSoftwareName, request.ClientSoftwareVersion = "test", "1"
		answer, err := request.RequestWith(ctx, c.kafka)
		if err != nil {
			t.Fatal(err)
		}
		level := int16(0)
		for _, f := range answer.FinalizedFeatures {
			if f.Name == "transaction.version" {
				level = f.MaxVersionLevel
			}
		}
		if level != version {
			t.Errorf("transaction.version is %d, want %d", level, version)
		}
		if err := c.CreateTopics(ctx, 1, "totals"); err != nil {
			t.Fatal(err)
		}
		look := func(open, hidden string) {
			t.Helper()
			ids, err := c.OpenTransactions(ctx)
			if err != nil || strings.Join(ids, " ") != open {
				t.Errorf("V%d: open are %q (%v), want %q", version, ids, err, open)
			}
			list, err := c.Hidden(ctx, "totals")
			if err != nil || strings.Join(list, " ") != hidden {
				t.Errorf("V%d: hidden is %q (%v), want %q", version, list, err, hidden)
			}
		}
		look("", "")
		producer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.TransactionalID("test"), kgo.DefaultProduceTopic("totals"))
		if err != nil {
			t.Fatal(err)
		}
		defer producer.Close()
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := producer.ProduceSync(ctx, kgo.StringRecord("open")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		look("test", "totals, partition 0, from offset 0 to 1")
		if n, err := c.AbortTransactions(ctx); err != nil || n != 1 {
			t.Errorf("V%d: %d aborted (%v)", version, n, err)
		}
		look("", "")
		w, err := Watch(addr, "totals")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if got, err := w.Rest(ctx); err != nil || len(got) != 0 {
			t.Errorf("V%d: got %v (%v)", version, got, err)
		}
	}
}
