package settings

import (
	"io"
	"log/slog"
)

// LogFormat is the form of the log.
type LogFormat string

const (
	Text LogFormat = "text" // key=value pairs, a line for each entry
	JSON LogFormat = "json" // an object for each entry, on a line
)

// Logger makes the program's log, which w (standard error) gets. It has no colours in either form, so
// that it can be kept and searched.
func (s Settings) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == JSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
