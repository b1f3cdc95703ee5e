package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// lastLag is how long the last offsets may take when the pipeline stops. It is shorter than TeardownTimeout.
const lastLag = 5 * time.Second

// tellLag has the positions of a confirmed checkpoint committed to the clusters of sources that the marker does not reach. Only the coordinator calls
// it, so there is room when what nobody has taken yet is gone.
func (a *attempt) tellLag(c *checkpoint.Checkpoint) {
	if a.anchorage.elsewhere == nil {
		return
	}
	select {
	case <-a.lag:
	default:
	}
	a.lag <- slices.DeleteFunc(a.Spec.positions(c.Partitions), func(p Position) bool { return !a.anchorage.elsewhere[p.Source] })
}

// showLag commits what tellLag says, for tools that show how far a consumer group is. Nothing reads it, so nothing waits for it
// and nothing fails with it. When the pipeline stops in order, its last positions are committed.
func (a *attempt) showLag(ctx context.Context) error {
	var next []Position
	warned := false
	for ctx.Err() == nil {
		select {
		case next = <-a.lag:
		case <-ctx.Done():
			continue
		}
		err := a.commitLag(ctx, next)
		switch {
		case err == nil:
			next, warned = nil, false
		case ctx.Err() == nil && !warned:
			warned = true
			a.log.Warn("the offsets by which tools show lag cannot be committed to the cluster of a source; the pipeline does without them", "group", a.base.Group, "error", err)
		}
	}
	select {
	case next = <-a.lag:
	default:
	}
	if next != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLag)
		defer cancel()
		if err := a.commitLag(last, next); err != nil {
			a.log.Debug("the last offsets by which tools show lag were not committed", "group", a.base.Group, "error", err)
		}
	}
	return context.Cause(ctx)
}

// commitLag commits positions, each to the cluster of its source.
func (a *attempt) commitLag(ctx context.Context, positions []Position) error {
	by := make([][]Position, len(a.clusters))
	for _, p := range positions {
		n := a.Spec.Sources[p.Source].Connection
		by[n] = append(by[n], p)
	}
	var err error
	for n, list := range by {
		if len(list) > 0 {
			err = errors.Join(err, commitBeside(ctx, a.clusters[n], a.base.Group, list))
		}
	}
	return err
}

// commitBeside commits offsets that nobody needs, unless the group holds a marker: then it is that of a pipeline of the same name whose sinks
// are there, and offsets without one would take its marker away.
func commitBeside(ctx context.Context, cluster Cluster, group string, positions []Position) error {
	m, err := cluster.Marker(ctx, group)
	if err != nil {
		return err
	}
	if m != nil {
		return failure.New(failure.Cluster, "give one of the two another name", nil,
			"group %s holds the marker of pipeline %s, which has its sinks in the cluster of this one's source", group, m.Pipeline)
	}
	return cluster.CommitOffsets(ctx, group, positions)
}
