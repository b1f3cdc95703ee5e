package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/kafka"
)

// Limits for the difference between the clock here and the cluster's.
const (
	clockWarning = 10 * time.Second
	// clockFailure is what brokers take of timestamps in the future unless told otherwise (message.timestamp.after.max.ms).
	clockFailure = time.Hour
)

// meet makes contact with the cluster of a connection.
func (x *exam) meet(ctx context.Context, connection int) {
	cfg := x.kafka(connection)
	x.clusters, x.details = append(x.clusters, nil), append(x.details, nil)
	reached := false
	contacts := kafka.Knock(ctx, cfg)
	for _, c := range contacts {
		reached = reached || c.Err == nil
	}
	for _, c := range contacts {
		switch {
		case c.Err == nil:
			named := ""
			if cfg.Unnamed != "" {
				named = "; it is the default, since nobody has named the brokers"
			}
			x.ok("brokers", c.Addr, "%s answers in %s%s", c.Addr, age(c.Took), named)
		case reached:
			x.fail("brokers", c.Addr, c.Err)
			x.soften("") // another one has told of all
		default:
			x.fail("brokers", c.Addr, c.Err)
		}
	}
	if reached {
		cluster, err := kafka.Open(ctx, cfg)
		if err == nil {
			x.clusters[connection] = cluster
			x.members(ctx, cluster, x.whose(connection))
			if connection == 0 {
				x.cluster = cluster
				x.transactions()
			}
			return
		}
		x.fail("cluster", x.whose(connection), err)
	} else {
		x.unknown("cluster", x.whose(connection), "there is no contact to the cluster")
	}
	if connection == 0 {
		x.unknown("transactions", "", "there is no contact to the cluster")
	}
}

// kafka says how to reach the cluster of a connection.
func (x *exam) kafka(connection int) kafka.Config {
	to := x.Settings.Reach(connection)
	return kafka.Config{Brokers: to.Brokers, Unnamed: to.Unnamed, Connection: to.Connection, ClientID: "eo-" + x.Spec.Name + "-doctor",
		Logger: slog.New(slog.DiscardHandler), Written: x.Spec.Written(connection)}
}

// whose names the cluster of a source by the source; "": that of the job.
func (x *exam) whose(connection int) string {
	for _, s := range x.Spec.Sources {
		if s.Connection == connection && connection > 0 {
			return "source " + s.Name
		}
	}
	return ""
}

func (x *exam) members(ctx context.Context, cluster *kafka.Cluster, whose string) {
	id, _ := cluster.ID(ctx) // it was learnt when contact was made
	members, err := cluster.Members(ctx)
	if err != nil {
		x.fail("cluster", whose, err)
	} else {
		var versions []string
		for _, m := range members {
			if m.Err != nil {
				x.fail("cluster", m.Addr, m.Err)
				continue
			}
			versions = append(versions, fmt.Sprintf("%d at %s (%s)", m.ID, m.Addr, m.Version))
		}
		text := "id %s, brokers %s"
		if whose != "" {
			text = whose + " has a cluster of its own: " + text
		}
		x.ok("cluster", whose, text, id, strings.Join(versions, ", "))
	}
}

func (x *exam) transactions() {
	if v := x.cluster.TransactionVersion(); v == 1 {
		x.ok("transactions", "", "transaction.version is 1 or lower: the broker does not move a producer's epoch between transactions (KIP-890); the program has its own guards")
	} else {
		x.ok("transactions", "", "transaction.version is %d: the broker moves the producer's epoch at the end of each transaction (KIP-890)", v)
	}
}

// clock compares the clocks.
func (x *exam) clock(ctx context.Context) {
	if !x.needs("clock") {
		return
	}
	least, most, err := x.cluster.Clock(ctx)
	if err != nil {
		x.unknown("clock", "", "the cluster does not tell its time (%v)", err)
		return
	}
	x.judgeClock(least, most)
}

// judgeClock takes the bounds between which the controller's clock is ahead.
func (x *exam) judgeClock(least, most time.Duration) {
	const name, help = "clock", "set the clocks by NTP: timestamps of results and the skew of sources go by them"
	off, side := least, "ahead of"
	if most < 0 {
		off, side = -most, "behind"
	}
	switch {
	case most-least > clockWarning:
		x.unknown(name, "", "the answer took %s, so nothing is certain about the clocks", age(most-least))
	case least <= 0 && most >= 0 || off < time.Second:
		x.ok(name, "", "the clocks of this machine and of the controller are less than %s apart", age(max(most, -least).Round(time.Millisecond)))
	case off >= clockFailure:
		x.refuse(name, "", help, "the controller's clock is %s %s this machine's: brokers may refuse its timestamps", age(off), side)
	case off >= clockWarning:
		x.warn(name, "", help, "the controller's clock is %s %s this machine's", age(off), side)
	default:
		x.ok(name, "", "the controller's clock is %s %s this machine's", age(off), side)
	}
}
