// Package words has what texts for people need to be read as sentences. It is a leaf.
package words

import "fmt"

type count interface{ ~int | ~int32 | ~int64 }

// Many is a number of things: 1 record, 3 records.
func Many[N count](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Does is the verb behind a number of things: one of it, and several.
func Does[N count](n N, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}
