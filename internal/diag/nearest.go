package diag

import (
	"slices"
	"strings"
)

// Nearest finds the known word that was probably meant by a misspelt one: at most
// one slip, and one more for every four letters, in whatever case. Among equally near
// words the first of the alphabet wins. If none is near it is the only one that has
// the same parts, in another order or with more of them: `user` is user_id. It returns
// "" if there is no such word either.
func Nearest(word string, known []string) string {
	best, least := "", 2+len(word)/4
	small := strings.ToLower(word)
	for _, k := range slices.Sorted(slices.Values(known)) {
		if abs(len(k)-len(word)) >= least {
			continue // also keeps a very long word from costing anything
		}
		if d := distance(small, strings.ToLower(k), least); d < least && d < len(word) { // not a new word altogether
			best, least = k, d
		}
	}
	if best == "" && len(word) <= longestName {
		return sameParts(small, known)
	}
	return best
}

// longestName bounds the names whose parts are compared.
const longestName = 100

// sameParts is the only known word all of whose parts, or which with all its parts, is in the other.
func sameParts(word string, known []string) string {
	parts, found := split(word), ""
	for _, k := range known {
		if len(k) > longestName || k == found {
			continue
		}
		other := split(strings.ToLower(k))
		if !contains(other, parts) && !contains(parts, other) {
			continue
		}
		if found != "" {
			return ""
		}
		found = k
	}
	return found
}

// split cuts a name at `_`, `-` and `.`.
func split(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-.", r) })
}

// contains: all of the parts are among the others, and not all of them are as short as `id`.
func contains(all, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return len(p) > 2 }) &&
		!slices.ContainsFunc(parts, func(p string) bool { return !slices.Contains(all, p) })
}

// distance counts the letters to insert, delete or change, and neighbours to swap,
// to get from a to b (optimal string alignment). It gives up at least, and returns that or more.
func distance(a, b string, least int) int {
	before, last, row := make([]int, len(b)+2), make([]int, len(b)+2), make([]int, len(b)+2)
	for j := range row {
		last[j] = j
	}
	nearest := 0 // in the last row
	for i := 1; i <= len(a); i++ {
		// What is further from the diagonal has more to insert or delete than least.
		first, end := max(1, i-least), min(len(b), i+least)
		row[first-1], row[end+1] = max(i, least), least
		if first == 1 {
			row[0] = i
		}
		inLast := nearest
		nearest = row[first-1]
		for j := first; j <= end; j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			nearest = min(nearest, row[j])
		}
		if min(nearest, inLast) >= least {
			return least
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func abs(n int) int { return max(n, -n) }
