package runtime

import (
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/observe"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/ui"
	"github.com/eoc-lang/eoc/runtime/terminal"
)

// view is what is shown of a pipeline beside its status, and where, beside the address that its settings name.
type view struct {
	graph   []Node
	metrics prometheus.Registerer // nil: none but /metrics
	screen  *observe.Screen       // nil: none
}

// show lets the pipeline be seen from here on until hide is called.
func (v view) show(set settings.Settings, e *engine.Engine, log *slog.Logger) (hide func(), err error) {
	var undo []func()
	leave := func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	about := observe.About{Pipeline: e.Spec.Name, File: e.Spec.File, Compiler: settings.Compiler()}
	if v.metrics != nil {
		unregister, err := observe.Register(v.metrics, about, e.Status)
		if err != nil {
			return nil, err
		}
		undo = append(undo, unregister)
	}
	if set.HTTP != "" {
		server, err := observe.Listen(set.HTTP, log)
		if err != nil {
			leave()
			return nil, err
		}
		undo = append(undo, server.Close)
		server.MountMetrics(about, e.Status)
		server.MountHealth(e.Status)
		if set.Pprof {
			server.MountProfiles()
		}
		if set.UI {
			page := ui.Page{File: e.Spec.File, Graph: v.graph, Asked: e.Status}
			server.Handle("GET "+observe.PagePath, "a page about the pipeline, for browsers", page.Handler())
		}
		server.Start()
	}
	if v.screen != nil {
		undo = append(undo, v.screen.Show(e.Status))
	}
	return leave, nil
}

// standardError is where the log goes, and the screen that it is if somebody looks at it who wants a line of progress.
func standardError(set settings.Settings, env settings.Env) (io.Writer, *observe.Screen) {
	if !set.Progress || set.LogFormat != settings.Text || !terminal.Rewritten(os.Stderr, env) {
		return os.Stderr, nil
	}
	s := observe.NewScreen(os.Stderr, func() int { return observe.Columns(os.Stderr.Fd()) })
	return s, s
}
