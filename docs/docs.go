// Package docs holds the pages that eoc shows itself.
package docs

import _ "embed" // for the pages

// Errors is errors.md: a section `## code` for every diagnostic.
//
//go:embed errors.md
var Errors string

// Operations is operations.md: its section `## Stopping and exit codes` has a table of the codes.
//
//go:embed operations.md
var Operations string
