package inspect_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/golden"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/inspect"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

func options() state.Options {
	return state.Options{Pipeline: "orders", Forms: []checkpoint.Form{
		{ID: "orders", Place: "orders.eo:8", Form: "topic orders"},
		{ID: "user_totals/window", Place: "orders.eo:18", Form: "tumbling 1m by user_id string: sum(amount)"},
	}}
}

// stored makes a directory with two checkpoints, of which the last is not confirmed.
func stored(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	b, err := state.OpenBolt(dir, options())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	at := time.Date(2026, 1, 31, 12, 0, 0, 250e6, time.UTC).UnixMicro()
	c := &checkpoint.Checkpoint{
		Incarnation: checkpoint.ID{1, 2}, Pipeline: "orders", Group: "eo-orders", IDs: []string{"orders-0", "orders-1"}, Exactly: true,
		Partitions: []checkpoint.Partition{
			{Source: "orders", Topic: "orders", TopicID: checkpoint.ID{3}, ID: 0, Watermark: math.MinInt64, Active: true, Bound: -1},
			{Source: "orders", Topic: "orders", TopicID: checkpoint.ID{3}, ID: 1, Watermark: math.MinInt64, Active: true, Bound: 900},
		},
	}
	if err := b.Save(c); err != nil {
		t.Fatal(err)
	}
	if err := b.Confirm(0); err != nil {
		t.Fatal(err)
	}
	next := c.Next()
	next.Partitions = c.Partitions
	next.Partitions[0].Next, next.Partitions[0].Watermark = 420, at
	next.Partitions[1].Active = false
	next.Watermarks = []checkpoint.Watermark{{Operator: "user_totals/window", W: at}}
	next.Counts = []checkpoint.Count{{Operator: "orders", Name: "read", Topic: "orders", N: 420}, {Operator: "totals", Name: "out", Partition: -1, N: 7}}
	next.Committable = checkpoint.Committable{ClusterID: "c1", TransactionalID: "orders-1", ProducerID: 4, Epoch: 2, EndTxnVersion: 5, Checkpoint: 1, Records: 7}
	next.Deltas = []checkpoint.Delta{{Operator: "user_totals/window", Group: 5, Data: []byte("abc")}}
	if err := b.Save(next); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The answer in both forms. The size of the file depends on the machine.
func TestPrint(t *testing.T) {
	dir := stored(t)
	written := time.Date(2026, 1, 31, 12, 0, 1, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "state.db"), written, written); err != nil {
		t.Fatal(err)
	}
	sizes := regexp.MustCompile(`("(?:live_)?bytes": |file +|of which )[0-9.]+(?: [KMGTP]?i?B)?`)
	for name, asJSON := range map[string]bool{"state.txt": false, "state.json": true} {
		var out bytes.Buffer
		if err := inspect.Print(&out, dir, options(), asJSON); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(out.String(), dir, "/orders")
		text = strings.Replace(text, `"use": "unknown"`, `"use": "free"`, 1) // not every system tells
		text = strings.Replace(text, ", the system does not tell whether a process uses it", ", free", 1)
		golden.Check(t, filepath.Join("testdata", name), []byte(sizes.ReplaceAllString(text, "${1}SIZE")))
	}
}

// Of a run that has ended there is nothing to go on with, and a directory that was given by a part of its path is named by the whole.
func TestEnded(t *testing.T) {
	dir := stored(t)
	b, err := state.OpenBolt(dir, options())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Confirm(1); err != nil {
		t.Fatal(err)
	}
	newest, _, _, err := b.Load()
	if err != nil {
		t.Fatal(err)
	}
	last := newest.Next()
	last.Partitions, last.Ended = newest.Partitions, true
	last.Committable = newest.Committable
	last.Committable.Checkpoint, last.Committable.TransactionalID = 2, "orders-0"
	if err := b.Save(last); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(dir))
	var out bytes.Buffer
	if err := inspect.Print(&out, filepath.Base(dir), options(), false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"has nothing to go on with: the run has ended for good", filepath.Base(dir) + " (" + dir + "), "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}

// A program that has changed is told how.
func TestDifference(t *testing.T) {
	o := options()
	o.Forms[1].Form = "tumbling 1h by user_id string: sum(amount)"
	r, err := inspect.Read(stored(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Fits || !strings.Contains(r.Difference, "orders.eo:18: user_totals/window: `tumbling 1h`, was `tumbling 1m`") {
		t.Errorf("fits: %v, %s", r.Fits, r.Difference)
	}
}

// What cannot be shown has the code with which a start would end.
func TestRefusals(t *testing.T) {
	empty, hollow, damaged := t.TempDir(), t.TempDir(), stored(t)
	if err := os.WriteFile(filepath.Join(hollow, "state.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, "state.db"), []byte("no state"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		kind failure.Kind
		want string
	}{
		{filepath.Join(empty, "none"), failure.State, "there is no state in " + empty + "/none, which does not exist; name"},
		{empty, failure.State, "there is no state in " + empty + "; name"},
		{"none", failure.State, "there is no state in none (" + here + "/none), which does not exist"},
		{hollow, failure.State, "is damaged: it is empty"},
		{damaged, failure.State, "is damaged: neither of its two meta pages is valid"},
		{filepath.Join(damaged, "state.db"), failure.Usage, "--state wants the directory that the file is in"},
	} {
		err := inspect.Print(&bytes.Buffer{}, c.dir, options(), false)
		if failure.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: kind %d, %v", c.dir, failure.KindOf(err), err)
		}
	}
	for _, dir := range []string{filepath.Join(empty, "none"), "none"} {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s was made", dir)
		}
	}
}

// The page about state names every field.
func TestPageNamesFields(t *testing.T) {
	page, err := os.ReadFile("../../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	_, about, _ := bytes.Cut(page, []byte("## What `state` shows"))
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllSubmatch(about, -1) {
		named[string(m[1])] = true
	}
	text, err := os.ReadFile("testdata/state.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"([a-z_]+)":`).FindAllSubmatch(text, -1) {
		if !named[string(m[1])] {
			t.Errorf("docs/doctor.md does not name the field %s", m[1])
		}
	}
}
