package ui_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/ui"
)

// wide is a pipeline of two sources, a window and branches, with hostile text in it.
func wide() []ui.Node {
	return []ui.Node{
		{ID: "a", Kind: "source", Place: "w.eo:1", Chain: 1, Text: `source a: T from kafka("a")`, Out: []ui.Edge{{To: "s/from"}, {To: "dead", Rows: "dead-letters"}}},
		{ID: "b", Kind: "source", Place: "w.eo:2", Chain: 1, Text: `source b: T from kafka("b")`, Out: []ui.Edge{{To: "s/from"}, {To: "dead", Rows: "dead-letters"}}},
		{ID: "s/from", Kind: "union", Place: "w.eo:4", Chain: 1, Text: "from a, b", Out: []ui.Edge{{To: "s/where"}}},
		{ID: "s/where", Kind: "filter", Place: "w.eo:5", Chain: 1, Text: `where x != "<img src=x onerror=alert(1)>"`, Out: []ui.Edge{{To: "s/exchange"}, {To: "r/to"}}},
		{ID: "s/exchange", Kind: "exchange", Place: "w.eo:6", Chain: 1, Text: "exchange by k string", Out: []ui.Edge{{To: "s/window"}}},
		{ID: "s/window", Kind: "window", Place: "w.eo:6", Chain: 2, Text: "window tumbling 1m by k\naggregate n = count()", Out: []ui.Edge{{To: "out"}, {To: "late", Rows: "late"}}},
		{ID: "r/to", Kind: "route", Place: "w.eo:9", Chain: 1, Text: "to big if x > 1, small else", Out: []ui.Edge{{To: "big", If: "if x > 1"}, {To: "small", If: "else"}}},
		{ID: "out", Kind: "sink", Place: "w.eo:12", Chain: 2, Text: `sink out to kafka("out")`},
		{ID: "big", Kind: "sink", Place: "w.eo:13", Chain: 1, Text: `sink big to kafka("big")`},
		{ID: "small", Kind: "sink", Place: "w.eo:14", Chain: 1, Text: `sink small to kafka("small")`},
		{ID: "late", Kind: "sink", Place: "w.eo:15", Chain: 1, Text: `sink late to kafka("late")`},
		{ID: "dead", Kind: "dead-letter", Place: "w.eo:3", Chain: 1, Text: `on_error dlq("dead")`},
	}
}

// busy is a pipeline with 200 partitions, 100 checkpoints and failures, whose figures grow with each call.
func busy(calls *atomic.Int64) engine.Status {
	n, now := calls.Add(1), time.Now()
	s := engine.Status{
		Pipeline: "wide", Phase: engine.Running, Since: now.Add(-time.Hour), Tasks: 4, Interval: time.Second, Restarts: 2, Looked: now,
		Checkpoints: 100 + n, Transactions: 100 + n, InFlight: &engine.InFlight{Number: 101 + n, Since: now.Add(-time.Second), Waiting: "source task 2, sink writer"},
		Operators: []engine.OperatorStatus{{ID: "s/window", Place: "w.eo:6", W: now.Add(-time.Minute).UnixMicro()}},
		Failures: []engine.Failure{
			{Text: "the broker <b>is gone</b>", At: now.Add(-time.Hour), During: engine.Starting, Retried: true},
			{Text: "s/where (w.eo:5): division by zero", At: now.Add(-time.Minute), During: engine.Running},
		},
	}
	s.Failure = &s.Failures[1]
	s.Refusals = []engine.Refusal{
		{Operator: "a", Place: "w.eo:1", Reason: "<b>k</b>: not a number (byte 5)", Topic: "a", Partition: 7, Offset: 1_000_000 + n, At: now.Add(-2 * time.Minute), N: 1000 + n},
		{Operator: "s/window", Place: "w.eo:6", Reason: "does not fit an int", WindowStart: 0, WindowEnd: 60_000_000, At: now.Add(-2 * time.Hour), N: 1},
	}
	for i := range int64(100) {
		s.History = append(s.History, engine.CheckpointStatus{Number: n + i + 1, At: now.Add(time.Duration(i-99) * time.Second), Bytes: 1000 * i * i,
			Took: engine.Durations{Align: 20 * time.Millisecond, Flush: time.Duration(i%17) * 10 * time.Millisecond, Store: 40 * time.Millisecond,
				Commit: time.Duration(i%7) * 9 * time.Millisecond, Confirm: 3 * time.Millisecond}})
	}
	for i := range int32(200) {
		name := []string{"a", "b"}[i/100]
		p := engine.PartitionStatus{Source: name, Topic: name, ID: i % 100, Bound: -1, Next: 1_000_000 + 1000*n + int64(i), End: 1_000_500 + 1000*n + 3*int64(i),
			Stable: 1_000_400 + 1000*n + 2*int64(i), Watermark: now.Add(-time.Duration(200-i) * 300 * time.Millisecond).UnixMicro()}
		if i == 7 {
			p.State, p.Watermark = engine.Idle, now.Add(-time.Hour).UnixMicro()
		}
		s.Partitions = append(s.Partitions, p)
		for _, c := range []checkpoint.Count{
			{Operator: name, Name: "read", N: 1000}, {Operator: name, Name: "rejected", N: 10}, {Operator: "s/where", Name: "filtered", N: 190},
			{Operator: "s/window", Name: "late", N: 3}, {Operator: "s/window", Name: "aggregated", N: 797},
		} {
			c.Topic, c.Partition, c.N = name, p.ID, c.N*n
			s.Counts = append(s.Counts, c)
		}
	}
	for i, sink := range []string{"out", "big", "small", "late", "dead"} {
		s.Counts = append(s.Counts, checkpoint.Count{Operator: sink, Name: "out", Partition: -1, N: n * int64(i+1) * 100})
	}
	return s
}

// TestManyPartitions looks at 200 partitions, a full history and failures, with the keyboard too.
func TestManyPartitions(t *testing.T) {
	var calls atomic.Int64
	b := newTab(t, serve(t, ui.Page{File: "w.eo", Graph: wide(), Asked: func() engine.Status { return busy(&calls) }}))
	b.until(`document.querySelectorAll("#partitions tr").length === 200 && document.querySelectorAll("#checkpoints tr").length === 100`)
	b.until(`/^a\/0( |$)/.test(document.querySelector("#watermarks").rows[0].cells[3].textContent)`)
	b.until(`/[1-9].*\/s/.test(document.querySelector('#tiles [data-name="read"] span').textContent)`)
	if n := eval[int](b, `document.querySelectorAll("#chart rect").length`); n != 500 {
		t.Errorf("%d parts of 100 checkpoints are drawn", n)
	}

	// A failure leads to its operator, whose text stands below. No text becomes markup.
	failure := eval[string](b, `document.querySelector("#errors li").innerText`)
	if !strings.Contains(failure, `division by zero`) || !strings.Contains(failure, `where x != "<img src=x onerror=alert(1)>"`) {
		t.Errorf("the last failure is shown as %q", failure)
	}
	if n := eval[int](b, `document.querySelectorAll("main img, #errors b").length`); n != 0 {
		t.Error("text of the pipeline has become markup")
	}
	if id := eval[string](b, `document.querySelector(document.querySelector("#errors a").getAttribute("href").replace("/", "\\/")).querySelector("h3").firstChild.textContent`); id != "s/where" {
		t.Errorf("the failure leads to %q", id)
	}

	// Between failures stands what was refused, by its time: a record by its offset, a result by its window. The focus stays while the text changes.
	eval[any](b, `document.querySelectorAll("#errors a")[1].focus(), window.before = document.querySelectorAll("#errors li")[1].innerText`)
	b.until(`document.querySelectorAll("#errors li")[1].innerText !== window.before`)
	if text := eval[string](b, `document.activeElement.textContent`); text != "w.eo:1" {
		t.Errorf("the focus is on %q", text)
	}
	b.until(`/^.*, the last of 1,00\d refused by a: w\.eo:1: <b>k<\/b>: not a number \(byte 5\); record of topic a, partition 7, offset 10000\d\d\n+w\.eo:1  source a/.test(document.querySelectorAll("#errors li")[1].innerText)`)
	b.until(`document.querySelectorAll("#errors li")[3].innerText.includes("the last of 1 refused by s/window: w.eo:6: does not fit an int; result of the window 1970-01-01 00:00:00.000 to 1970-01-01 00:01:00.000")`)

	// Every place can be reached with the keyboard, and a column is sorted by it.
	eval[any](b, `[...document.querySelectorAll("#partitions-head button")].find((x) => x.textContent === "lag").focus(), 1`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector('#partitions-head th[aria-sort="descending"]').textContent === "lag" && document.querySelector("#partitions tr td").textContent === "b/99"`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector("#partitions tr td").textContent === "a/0"`)
	checkNames(b)
	b.picture("many", 1280)
	b.picture("many-phone", 390)
	b.quiet(false)
}

// checkNames wants a name for everything that a screen reader stops at.
func checkNames(b *tab) {
	b.t.Helper()
	nameless := eval[[]string](b, `[...document.querySelectorAll("button, a, summary, [role=region], [role=img], section, table th")]
		.filter((e) => !(e.getAttribute("aria-label") || document.getElementById(e.getAttribute("aria-labelledby") || "")?.textContent || e.textContent.trim()))
		.map((e) => e.outerHTML.slice(0, 80))`)
	if len(nameless) > 0 {
		b.t.Errorf("without a name: %q", nameless)
	}
	if levels := eval[string](b, `[...document.querySelectorAll("h1, h2, h3")].map((h) => h.tagName[1]).join("")`); !strings.HasPrefix(levels, "12") || strings.Contains(levels, "13") {
		b.t.Errorf("headings have levels %s", levels)
	}
}

// TestOnePartition looks at the smallest pipeline, before it has done anything.
func TestOnePartition(t *testing.T) {
	graph := []ui.Node{{ID: "in", Kind: "source", Place: "o.eo:1", Chain: 1, Text: `source in: T from kafka("in")`, Out: []ui.Edge{{To: "out"}}},
		{ID: "out", Kind: "sink", Place: "o.eo:2", Chain: 1, Text: `sink out to kafka("out")`}}
	var phase atomic.Int64
	b := newTab(t, serve(t, ui.Page{File: "o.eo", Graph: graph, Asked: func() engine.Status {
		s := engine.Status{Pipeline: "one", Phase: engine.Phase(phase.Load())}
		if s.Phase == engine.Running {
			s.Partitions = []engine.PartitionStatus{{Source: "in", Topic: "in", End: -1, Stable: -1, Bound: -1}}
		}
		return s
	}}))
	for i, name := range []string{"starting", "running", "restarting", "stopping", "finished"} {
		phase.Store(int64(i))
		b.until(fmt.Sprintf(`document.querySelector("#phase").textContent === %q`, name))
		b.until(fmt.Sprintf(`document.querySelectorAll("#partitions tr").length === %d`, map[string]int{"running": 1}[name]))
	}
	if shown := eval[bool](b, `document.querySelector("#no-windows").hidden || document.querySelector("#no-errors").hidden`); shown {
		t.Error("the page does not say that there are no windows and no failures")
	}
	if text := eval[string](b, "document.body.innerText"); strings.Contains(text, "NaN") || strings.Contains(text, "undefined") {
		t.Errorf("the page shows\n%s", text)
	}
	b.quiet(false)
}
