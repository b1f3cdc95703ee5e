package doctor

import (
	"log/slog"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/observe"
)

// http tries whether the program can be reached where --http says. To know that, the address is taken for a moment, unless the pipeline runs: then it has it.
func (x *exam) http() {
	const name = "http"
	address := x.Settings.HTTP
	switch {
	case address == "":
		x.ok(name, "", "nothing is served: there is no --http")
		return
	case x.running():
		x.ok(name, "", "%s is the running program's, if it was started with it", address)
		return
	}
	s, err := observe.Listen(address, slog.New(slog.DiscardHandler))
	if err != nil {
		x.fail(name, "", err)
		return
	}
	s.Close()
	if strings.HasSuffix(address, ":0") {
		address += ", a free port,"
	}
	x.ok(name, "", "%s can be had", address)
}
