package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// fingerprint is what a program must have in common with its state.
type fingerprint struct {
	Format   int
	Pipeline string
	Groups   int
	Forms    []checkpoint.Form
}

func (o Options) fingerprint() fingerprint {
	return fingerprint{Format: formatVersion, Pipeline: o.Pipeline, Groups: checkpoint.Groups, Forms: o.Forms}
}

// check refuses a state that another program has made. Places may differ: they move with every edit.
func (old fingerprint) check(now fingerprint, dir string) error {
	switch {
	case old.Format > now.Format:
		return failure.New(failure.State, laterHelp, nil, "the state in %s has format %d, which a later version of eoc has written; this program knows the formats up to %d", dir, old.Format, now.Format)
	case old.Format < oldestFormat || old.Groups != now.Groups:
		return failure.New(failure.State, "run the version of eoc that made it, or use another state directory", nil,
			"the state in %s has format %d with %d key groups, this program needs format %d to %d with %d", dir, old.Format, old.Groups, oldestFormat, now.Format, now.Groups)
	}
	if old.Pipeline != now.Pipeline {
		return failure.New(failure.State, "give each pipeline a state directory of its own with --state, or say with --name which pipeline it is", nil,
			"the state in %s is of pipeline %q, this program is pipeline %q", dir, old.Pipeline, now.Pipeline)
	}
	if changes := compareForms(old.Forms, now.Forms); len(changes) > 0 {
		return failure.New(failure.State,
			"undo the change, or start it as another pipeline, with a name, a state directory and output topics of its own, or begin anew with --fresh: it derives all output once more, and earlier results stay beside it in the topics", nil,
			"the program has changed since the state in %s was made: %s", dir, strings.Join(changes, "; "))
	}
	return nil
}

// raise makes a file of an earlier format one of this program's, in the tx that writes a checkpoint to it. The rest stays as it is: with --fresh it may be another program's.
func (b *Bolt) raise(w *writer) error {
	if b.print.Format >= formatVersion {
		return nil
	}
	raised := b.print
	raised.Format = formatVersion
	return putFingerprint(w, raised)
}

func putFingerprint(w *writer, f fingerprint) error {
	value, err := sealJSON(keyFingerprint, f)
	if err != nil {
		return err
	}
	return w.put(bucketMeta, keyFingerprint, value)
}

// compareForms says what changed, by id.
func compareForms(old, now []checkpoint.Form) []string {
	var changes []string
	for _, f := range now {
		i := slices.IndexFunc(old, func(o checkpoint.Form) bool { return o.ID == f.ID })
		switch {
		case i < 0:
			changes = append(changes, fmt.Sprintf("%s: %s is new (%s)", f.Place, f.ID, f.Form))
		case old[i].Form != f.Form:
			changes = append(changes, fmt.Sprintf("%s: %s: %s", f.Place, f.ID, changeOf(old[i].Form, f.Form)))
		}
	}
	for _, o := range old {
		if !slices.ContainsFunc(now, func(f checkpoint.Form) bool { return f.ID == o.ID }) {
			changes = append(changes, fmt.Sprintf("%s, formerly at %s, is gone (%s)", o.ID, o.Place, o.Form))
		}
	}
	return changes
}
