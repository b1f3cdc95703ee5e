package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// stableLimit is how long reading a marker waits for a transaction with another one to end.
const stableLimit = 30 * time.Second

// Marker reads the marker of the group. Nil: there is none. A pending one is waited for, except the first that a
// group gets: brokers leave offsets out that were never committed. So what a start decides by it is to be
// read after the ids were fenced, which waits for their transactions.
func (c *Cluster) Marker(ctx context.Context, group string) (*checkpoint.Marker, error) {
	return c.marker(ctx, group, stableLimit, nil)
}

// marker is Marker that waits for so long. The ids, if they are known, are those that write the marker.
func (c *Cluster) marker(ctx context.Context, group string, limit time.Duration, ids []string) (*checkpoint.Marker, error) {
	offsets, err := c.stable(ctx, group, limit, ids)
	if err != nil {
		return nil, err
	}
	return newestMarker(group, offsets)
}

// LastMarker reads the marker as Marker does, but waits for nothing: one that a transaction is writing does not count. Once that transaction
// is aborted it is the marker.
func (c *Cluster) LastMarker(ctx context.Context, group string) (*checkpoint.Marker, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var offsets kadm.OffsetResponses
	err := persist(ctx, func() (err error) {
		if offsets, err = c.admin.FetchOffsets(ctx, group); err == nil {
			err = offsets.Error()
		}
		return err
	})
	switch {
	case errors.Is(err, kerr.GroupIDNotFound):
		return nil, nil
	case err != nil:
		return nil, c.failed(needs(err, readsGroup(group)), "read the marker of group %s", group)
	}
	return newestMarker(group, offsets)
}

// newestMarker finds the marker among the offsets of a group.
func newestMarker(group string, offsets kadm.OffsetResponses) (*checkpoint.Marker, error) {
	var newest *checkpoint.Marker
	for _, o := range offsets.Sorted() {
		if o.Metadata == "" {
			continue // a plain offset, of a time without exactly_once sinks
		}
		var m checkpoint.Marker
		if err := json.Unmarshal([]byte(o.Metadata), &m); err != nil || m.Pipeline == "" {
			return nil, failure.New(failure.Cluster, "another consumer uses this group; it has to be this pipeline's alone", err,
				"group %s holds an offset of %s, partition %d, that is no marker", group, o.Topic, o.Partition)
		}
		if newest != nil && (m.Pipeline != newest.Pipeline || m.Incarnation != newest.Incarnation) {
			return nil, failure.New(failure.Cluster, "two pipelines, or two states of one, use the same group; give one of them another name", nil,
				"group %s holds markers of %s (incarnation %x) and %s (incarnation %x)", group, newest.Pipeline, newest.Incarnation, m.Pipeline, m.Incarnation)
		}
		if newest == nil || m.Checkpoint > newest.Checkpoint {
			newest = &m
		}
	}
	return newest, nil
}

// stable reads all offsets of a group and waits for pending ones.
func (c *Cluster) stable(whole context.Context, group string, limit time.Duration, ids []string) (kadm.OffsetResponses, error) {
	ctx, cancel := context.WithTimeout(whole, limit)
	defer cancel()
	began := time.Now()
	var pending error // what the last answer said
	for tries := 1; ; tries++ {
		offsets, err := c.admin.FetchOffsets(kadm.RequireStable(ctx), group)
		if err == nil {
			err = offsets.Error()
		}
		if errors.Is(err, kerr.UnstableOffsetCommit) {
			pending = err
		}
		switch {
		case err == nil:
			return offsets, nil
		case errors.Is(err, context.DeadlineExceeded) && pending != nil: // the last question was cut off
			return nil, c.unstable(whole, pending, group, ids, time.Since(began))
		case errors.Is(err, kerr.GroupIDNotFound):
			return nil, nil
		case !errors.Is(err, kerr.UnstableOffsetCommit) && !among(err, passing()) && !hungUp(err):
			return nil, c.failed(needs(err, readsGroup(group)), "read the marker of group %s", group)
		case sleep(ctx, pause(tries)):
		case errors.Is(err, kerr.UnstableOffsetCommit):
			return nil, c.unstable(whole, err, group, ids, time.Since(began))
		default:
			return nil, c.failed(needs(err, readsGroup(group)), "read the marker of group %s", group)
		}
	}
}
