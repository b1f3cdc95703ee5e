package runtime

// room is asked for the memory of tables that grow. A table that is denied it goes on with what it has, for the rows of one
// batch, and then the task ends with err.
type room struct {
	allocate func(bytes int64, take func()) error
	err      error
}

// Tables are small up to so many bytes or slots, and nobody is asked. In a larger one the quarter of the slots that is free takes more than a batch.
const (
	smallTable      = 4 << 20
	smallTableSlots = 8 * BatchSize
)

// take calls take if a table of so many slots and bytes may be had.
func (r *room) take(slots int, bytes int64, take func()) bool {
	switch {
	case r == nil || slots <= smallTableSlots || bytes <= smallTable:
		take()
	case r.err == nil:
		r.err = r.allocate(bytes, take)
		return r.err == nil
	default:
		return false
	}
	return true
}
