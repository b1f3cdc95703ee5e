// Package ui is the page that a program shows of itself in a browser: its operators with what flows through them,
// watermarks, lag, checkpoints and the last errors with their place. The page is plain HTML, CSS and JavaScript, embedded as it stands; it asks
// for status.json again and again and works out rates by itself.
package ui

// Node is an operator, with what of the .eo file it stands for.
type Node struct {
	ID    string `json:"id"`    // as counts and logs name it
	Kind  string `json:"kind"`  // source, union, filter, project, exchange, window, route, sink or dead-letter
	Place string `json:"place"` // `orders.eo:18`
	Chain int    `json:"chain"` // operators of one chain are one piece of straight-line code
	Text  string `json:"text"`  // its clauses, one in each line
	Out   []Edge `json:"out,omitempty"`
}

// Edge is a way of rows from one operator to another.
type Edge struct {
	To   string `json:"to"`             // id of a Node
	Rows string `json:"rows,omitempty"` // late or dead-letters; "": what the operator makes
	If   string `json:"if,omitempty"`   // the condition of a branch, or else; "": all rows
}
