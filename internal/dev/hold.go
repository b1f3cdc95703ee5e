package dev

import (
	"fmt"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/planner"
)

// allRead says that all data is read, and what the results wait for that have not come. The topics have so many partitions.
func allRead(g *planner.Graph, partitions int32) string {
	var waits []string
	idle, first := time.Duration(0), time.Duration(0)
	for _, n := range g.Nodes {
		w, ok := n.Op.(*planner.Window)
		if !ok {
			continue
		}
		behind := time.Duration(0)
		for _, s := range w.Sources {
			source := s.Op.(*planner.Source)
			behind = max(behind, source.Watermark)
			idle = max(idle, source.Idle)
		}
		if wait := w.Size + behind + w.Grace; first == 0 || wait < first {
			first = wait
		}
		waits = append(waits, fmt.Sprintf("%s closes a window of %s when event time is %s past its end", n.Stream, short(w.Size), short(behind+w.Grace)))
	}
	if waits == nil {
		return "all data is read"
	}
	text := "all data is read; windows that are still open wait for later records: " + strings.Join(waits, ", ")
	if idle > 0 {
		if partitions > 1 {
			text += fmt.Sprintf(".\nEach topic has %d partitions, and one without records holds windows open for %s, as if it were slow", partitions, short(idle))
		}
		text += fmt.Sprintf(".\nIf none come, time goes on with the clock after %s: the next window would close within %s", short(idle), short(idle+first))
	}
	return text + ". With --until-end all windows close at once, where the data ends"
}

// short is a duration without zeros: 1m, not 1m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
