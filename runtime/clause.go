package runtime

// Clause is a where, let, select or to that can drop or reject rows.
type Clause struct {
	name, place string
	filtered    *counter
	rejected    *refusals
}

// Clause declares a clause by its id, such as `user_totals/where`, and its place in the .eo file.
func (t *Task) Clause(name, place string) *Clause {
	return &Clause{
		name: name, place: place,
		filtered: t.counter(name, place, countFiltered),
		rejected: t.refusals(name, place),
	}
}

// Filter counts the current record of in as dropped.
func (c *Clause) Filter(in *Batch) { c.filtered.n[in.origin]++ }

// FilterResult counts a result of a window as dropped.
func (c *Clause) FilterResult() { c.filtered.n[0]++ }
