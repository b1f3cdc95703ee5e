package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
)

// results is what a reader outside sees: what is committed.
type results struct {
	watcher   *devkafka.Watcher
	totals    map[slot]total
	twice     []slot // totals that came once more
	late, bad int
}

func watch(addr string) (*results, error) {
	w, err := devkafka.Watch(addr, totalsTopic, lateTopic, badTopic)
	if err != nil {
		return nil, err
	}
	return &results{watcher: w, totals: map[slot]total{}}, nil
}

func (r *results) close() { r.watcher.Close() }

// more waits until there is a total more.
func (r *results) more(ctx context.Context) error {
	for had := len(r.totals); len(r.totals) == had; {
		records, err := r.watcher.Next(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("while waiting for totals: %w", context.Cause(ctx))
		}
		if err == nil {
			err = r.add(records)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rest reads what else is committed.
func (r *results) rest(ctx context.Context) error {
	records, err := r.watcher.Rest(ctx)
	if err != nil {
		return err
	}
	return r.add(records)
}

func (r *results) add(records []devkafka.Record) error {
	for _, record := range records {
		switch record.Topic {
		case lateTopic:
			r.late++
			continue
		case badTopic:
			r.bad++
			continue
		}
		var row struct {
			User   string      `json:"user_id"`
			Start  time.Time   `json:"window_start"`
			Total  json.Number `json:"total"`
			Orders int64       `json:"orders"`
		}
		err := json.Unmarshal(record.Value, &row)
		cents, centsErr := parseMoney(row.Total.String())
		if err = errors.Join(err, centsErr); err != nil {
			return fmt.Errorf("%s has %q: %w", record.Topic, record.Value, err)
		}
		at := slot{row.User, row.Start.UTC()}
		if _, had := r.totals[at]; had {
			r.twice = append(r.twice, at)
		}
		r.totals[at] = total{cents, row.Orders}
	}
	return nil
}

// parseMoney reads an amount with two decimals.
func parseMoney(text string) (cents int64, err error) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) != 2 {
		return 0, fmt.Errorf("%q has not two decimals", text)
	}
	return strconv.ParseInt(whole+fraction, 10, 64)
}

// report shows both sides, and returns an error if they differ.
func report(want expectation, got *results) error {
	users, expected := byUser(want.totals)
	_, committed := byUser(got.totals)
	say("\n%-10s %12s %8s %12s %8s", "user", "expected", "orders", "committed", "orders")
	for _, user := range users {
		e, c := expected[user], committed[user]
		mark := ""
		if e != c {
			mark = "  differs"
		}
		say("%-10s %12s %8d %12s %8d%s", user, money(e.cents), e.orders, money(c.cents), c.orders, mark)
	}
	say("%-10s %12s %8d %12s %8d", "(late)", "", want.late, "", got.late)
	say("%-10s %12s %8d %12s %8d", "(bad)", "", want.bad, "", got.bad)
	say("%-10s %12s %8d", "(no price)", "", want.filtered)
	say("%-10s %12s %8d", "(open)", "", want.open)
	say("%-10s %12s %8d", "all sent", "", want.sent())
	say("\nlate and bad orders have topics of their own, those without a price are filtered, and the last window is still open.\n")

	if faults := compare(want, got); len(faults) > 0 {
		return fmt.Errorf("not equal: %s", strings.Join(faults, "; "))
	}
	say("Equal: %d totals of a user and a minute, each committed once, each as expected.", len(want.totals))
	return nil
}

// compare names what differs, the first few of each kind.
func compare(want expectation, got *results) (faults []string) {
	const most = 5
	differ := 0
	for at, w := range want.totals {
		if g, ok := got.totals[at]; !ok || g != w {
			if differ++; differ <= most {
				faults = append(faults, fmt.Sprintf("%s at %s is %+v, expected %+v", at.user, at.start.Format(time.TimeOnly), g, w))
			}
		}
	}
	for at := range got.totals {
		if _, ok := want.totals[at]; !ok {
			if differ++; differ <= most {
				faults = append(faults, fmt.Sprintf("%s at %s is not expected at all", at.user, at.start.Format(time.TimeOnly)))
			}
		}
	}
	if differ > most {
		faults = append(faults, fmt.Sprintf("%d totals differ in all", differ))
	}
	if len(got.twice) > 0 {
		faults = append(faults, fmt.Sprintf("%d totals were committed more than once, such as %s at %s",
			len(got.twice), got.twice[0].user, got.twice[0].start.Format(time.TimeOnly)))
	}
	if want.late != got.late || want.bad != got.bad {
		faults = append(faults, "late or bad orders differ")
	}
	return faults
}
