// Package dsl turns the text of a .eo file into a checked, typed Program, and formats it.
//
// The way of a file: dsl/internal/syntax reads it into a tree; Check declares all names, then goes from types to
// sources and sinks to streams, each behind those that it reads, and turns every clause into its typed form. The whole
// language is read; what this version cannot compile is the error not-yet, never a wrong program.
//
// Every fault becomes a diag.Diagnostic. What could not be understood is unknown from then on, and
// nothing is reported because of it, so that one mistake gives one error.
package dsl
