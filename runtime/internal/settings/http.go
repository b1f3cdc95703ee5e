package settings

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// loopback is where a port is opened that is given without a host: nobody but this machine reaches it.
const loopback = "127.0.0.1"

// pageAddress is where --ui alone shows the page. It stays the same over restarts, so that an open page finds the program again.
const pageAddress = loopback + ":9400"

// viewOptions list what a program shows of itself while it runs.
func viewOptions() []option {
	return []option{
		{flag: "progress", env: "EO_PROGRESS", initial: Setting{Text: "true"},
			help: "if standard error is a terminal, keep a line on it that says how the pipeline stands", set: setSwitch(func(s *Settings) *bool { return &s.Progress })},
		{flag: "http", env: "EO_HTTP", value: "[HOST:]PORT",
			help: "serve /metrics, /healthz and /readyz here; without a host to this machine alone, with 0.0.0.0:PORT to all", set: setHTTP},
		{flag: "ui", env: "EO_UI",
			help: "serve a page about the running pipeline there, under /ui/; without --http at " + pageAddress, set: setSwitch(func(s *Settings) *bool { return &s.UI })},
		{flag: "pprof", env: "EO_PPROF",
			help: "serve profiles of the program there too, under /debug/pprof", set: setSwitch(func(s *Settings) *bool { return &s.Pprof })},
	}
}

// setHTTP completes and checks [host:]port. Port 0 is a free one, which the log names.
func setHTTP(s *Settings, text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil && !strings.Contains(text, ":") {
		host, port, err = "", text, nil
	}
	if _, numberErr := strconv.ParseUint(port, 10, 16); err != nil || numberErr != nil || strings.ContainsAny(host, " /") {
		return fmt.Errorf("expected a port, such as 9400, or host:port, such as 0.0.0.0:9400")
	}
	if host == "" {
		host = loopback
	}
	s.HTTP = net.JoinHostPort(host, port)
	return nil
}

// checkHTTP completes the address, and refuses a combination that shows nothing.
func (s *Settings) checkHTTP() error {
	if s.UI && s.HTTP == "" {
		s.HTTP = pageAddress
	}
	if s.Pprof && s.HTTP == "" {
		return usage("--pprof serves profiles at the address of --http, and none is set")
	}
	return nil
}
