package runtime

// Opt is a value that may be null: then OK is false and V zero.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some is v, which is not null.
func Some[T any](v T) Opt[T] { return Opt[T]{v, true} }

// Or is the value, or def for null.
func (o Opt[T]) Or(def T) T {
	if o.OK {
		return o.V
	}
	return def
}
