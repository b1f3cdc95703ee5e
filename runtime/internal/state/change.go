package state

import (
	"fmt"
	"slices"
	"strings"
)

// changeOf says in which parts two forms differ, such as "`tumbling 2m`, was `tumbling 1m`; aggregate 3 is `min(amount) int`, was
// `max(amount) int`". A form that is long says little when it stands there twice.
func changeOf(old, now string) string {
	before, after := partsOf(old), partsOf(now)
	var changes []string
	for _, name := range union(before.names, after.names) {
		switch was, is := before.clauses[name], after.clauses[name]; {
		case was == is:
		case was == "":
			changes = append(changes, fmt.Sprintf("`%s` is new", is))
		case is == "":
			changes = append(changes, fmt.Sprintf("`%s` is gone", was))
		default:
			changes = append(changes, fmt.Sprintf("`%s`, was `%s`", is, was))
		}
	}
	changes = append(changes, changedItems(before.items, after.items, after.noun)...)
	if len(changes) == 0 { // they differ in what is no part of either
		return fmt.Sprintf("`%s`, was `%s`", now, old)
	}
	return strings.Join(changes, "; ")
}

// changedItems compares lists, whose beginnings and ends are passed over as far as they agree.
func changedItems(old, now []string, noun string) []string {
	first := 0
	for first < min(len(old), len(now)) && old[first] == now[first] {
		first++
	}
	for len(old) > first && len(now) > first && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	var changes []string
	for i := first; i < max(len(old), len(now)); i++ {
		switch {
		case i >= len(old):
			changes = append(changes, fmt.Sprintf("%s %d, `%s`, is new", noun, i+1, now[i]))
		case i >= len(now):
			changes = append(changes, fmt.Sprintf("%s %d, `%s`, is gone", noun, i+1, old[i]))
		default:
			changes = append(changes, fmt.Sprintf("%s %d is `%s`, was `%s`", noun, i+1, now[i], old[i]))
		}
	}
	return changes
}

// parts are those of a form: of `tumbling 1m grace 5s of a, b by k string: count() int, max(x) int` the clauses `tumbling 1m`, `grace 5s`,
// `of a, b` and `by k string` by their first words, and two items.
type parts struct {
	names   []string
	clauses map[string]string
	items   []string
	noun    string // what an item is
}

func partsOf(form string) parts {
	p := parts{clauses: map[string]string{}, noun: "aggregate"}
	if strings.HasPrefix(form, "kafka(") {
		p.noun = "field"
	}
	name := ""
	begin := 0
	end := func(at int) {
		text := strings.TrimSpace(form[begin:at])
		if p.clauses[name] != "" {
			text = p.clauses[name] + " " + text // a key that is called like a clause
		} else if text != "" {
			p.names = append(p.names, name)
		}
		if text != "" {
			p.clauses[name] = text
		}
	}
	for at := range outside(form) {
		if form[at] == ':' {
			end(at)
			for _, item := range split(form[at+1:]) {
				p.items = append(p.items, strings.TrimSpace(item))
			}
			return p
		}
		word, _, _ := strings.Cut(form[at:], " ")
		if at > 0 && form[at-1] == ' ' && slices.Contains([]string{"offset", "grace", "of", "by", "time"}, word) {
			end(at)
			name, begin = word, at
		}
	}
	end(len(form))
	return p
}

// split cuts a list at its commas, but for those in brackets and quotes.
func split(list string) []string {
	var items []string
	begin := 0
	for at := range outside(list) {
		if list[at] == ',' {
			items = append(items, list[begin:at])
			begin = at + 1
		}
	}
	return append(items, list[begin:])
}

// outside yields the places of the bytes of a text that are in no brackets and no quotes.
func outside(text string) func(yield func(at int) bool) {
	return func(yield func(at int) bool) {
		depth, quote := 0, byte(0)
		for at := 0; at < len(text); at++ {
			switch c := text[at]; {
			case quote == '"' && c == '\\':
				at++
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '`':
				quote = c
			case c == '(' || c == '[' || c == '{':
				depth++
			case c == ')' || c == ']' || c == '}':
				depth--
			case depth == 0 && !yield(at):
				return
			}
		}
	}
}

// union are the names of both lists, in the order of the second where it has them.
func union(old, now []string) []string {
	for _, name := range old {
		if !slices.Contains(now, name) {
			now = append(now, name)
		}
	}
	return now
}
