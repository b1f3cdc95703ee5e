package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

// standIns are those of Kafka's own tools that pages use, as far as pages use them. They speak to the embedded broker.
var standIns = map[string]func(){
	"kafka-topics.sh":           func() { standIn(topicsTool) },
	"kafka-console-producer.sh": func() { standIn(producerTool) },
	"kafka-console-consumer.sh": func() { standIn(consumerTool) },
}

// toolFlags are the flags of all of them.
type toolFlags struct {
	server, topic, isolation string
	partitions, most         int
	create, beginning        bool
}

func standIn(tool func(context.Context, toolFlags) error) {
	var f toolFlags
	flag.StringVar(&f.server, "bootstrap-server", "", "")
	flag.StringVar(&f.topic, "topic", "", "")
	flag.StringVar(&f.isolation, "isolation-level", "read_uncommitted", "")
	flag.IntVar(&f.partitions, "partitions", 1, "")
	flag.IntVar(&f.most, "max-messages", 0, "")
	flag.BoolVar(&f.create, "create", false, "")
	flag.BoolVar(&f.beginning, "from-beginning", false, "")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := tool(ctx, f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func topicsTool(ctx context.Context, f toolFlags) error {
	if !f.create {
		return fmt.Errorf("kafka-topics.sh: only --create is known here")
	}
	client, err := devkafka.Dial(f.server)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.CreateTopics(ctx, int32(f.partitions), f.topic)
}

func producerTool(ctx context.Context, f toolFlags) error {
	client, err := devkafka.Dial(f.server)
	if err != nil {
		return err
	}
	defer client.Close()
	var records []devkafka.Record
	for r, err := range (devkafka.Rule{}).Records(os.Stdin) {
		if err != nil {
			return err
		}
		records = append(records, r)
	}
	return client.Send(ctx, f.topic, records)
}

// consumerTool prints the first --max-messages records that are committed, or all that come: a page that reads what is not committed shows something else
// than what its readers want.
func consumerTool(ctx context.Context, f toolFlags) error {
	if !f.beginning || f.isolation != "read_committed" {
		return fmt.Errorf("kafka-console-consumer.sh: --from-beginning and --isolation-level read_committed are wanted here")
	}
	if f.most == 0 {
		f.most = math.MaxInt
	}
	watcher, err := devkafka.Watch(f.server, f.topic)
	if err != nil {
		return err
	}
	defer watcher.Close()
	for n := 0; n < f.most; {
		records, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		for _, r := range records[:min(len(records), f.most-n)] {
			if _, err := fmt.Printf("%s\n", r.Value); err != nil {
				return err
			}
			n++
		}
	}
	return nil
}
