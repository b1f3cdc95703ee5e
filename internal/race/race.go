//go:build race

// Package race tells tests whether the race detector is on. Code that runs on one goroutine has no races to find, but takes ten
// to thirty times as long with it: the searches of the protocol and of the language do less then, and `make test` runs
// them once more without.
package race

// Enabled says that the race detector is on.
const Enabled = true
