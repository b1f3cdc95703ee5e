package kafkatest

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// logging sends the broker's warnings to its output, and the line that says that it is up.
const logging = `rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
logger.up.name=kafka.server.KafkaRaftServer
logger.up.level=info
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{HH:mm:ss.SSS} %p %c{1} %m%n
`

// place is what a broker is in its cluster: one node of it, broker and controller.
type place struct {
	id               int    // from 1
	cluster          string // the cluster's id
	port, controller int
	voters           string            // the controllers of all nodes
	settings         map[string]string // of the cluster, weaker than those of Options
}

// voter names the node's controller among the others.
func (p place) voter() string { return fmt.Sprintf("%d@127.0.0.1:%d", p.id, p.controller) }

// newClusterID is an id for a new cluster.
func newClusterID() string {
	var id [16]byte
	rand.Read(id[:])
	return base64.RawURLEncoding.EncodeToString(id[:])
}

const transactionPartitions = 4 // of the log of the transaction coordinators

// configure writes the configuration files of the broker.
func (b *Broker) configure() error {
	settings := map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        fmt.Sprint(b.place.id),
		"listeners":                      fmt.Sprintf("PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d", b.Addr, b.place.controller),
		"advertised.listeners":           "PLAINTEXT://" + b.Addr,
		"controller.listener.names":      "CONTROLLER",
		"inter.broker.listener.name":     "PLAINTEXT",
		"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
		"controller.quorum.voters":       b.place.voters,
		"log.dirs":                       b.path("data"),

		"offsets.topic.num.partitions":                     "4",
		"offsets.topic.replication.factor":                 "1",
		"transaction.state.log.num.partitions":             fmt.Sprint(transactionPartitions),
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"group.initial.rebalance.delay.ms":                 "0",

		// A misspelt topic is to be an error, and records with old timestamps are to stay.
		"auto.create.topics.enable": "false",
		"log.retention.ms":          "-1",
	}
	if b.Options.Secure {
		if err := b.secure(settings); err != nil {
			return err
		}
	}
	maps.Copy(settings, b.place.settings)
	maps.Copy(settings, b.Options.Settings)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s=%s\n", name, settings[name])
	}
	if err := os.WriteFile(b.path("server.properties"), []byte(text.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(b.path("log4j2.properties"), []byte(logging), 0o644)
}
