package ui

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// pages is the page as the browser gets it.
//
//go:embed page
var pages embed.FS

// contentTypes of the files of the page. The system's own table may say otherwise.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// policy lets the page load what is served beside it, and nothing else from anywhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Page is the page about one pipeline.
type Page struct {
	File  string               // base name of the .eo file
	Graph []Node               // its operators
	Asked func() engine.Status // how the pipeline stands; it is called from many goroutines
}

// Handler serves the page at /ui/, with graph.json, what stays as it is, and status.json, what changes.
func (p Page) Handler() http.Handler {
	files, err := fs.Sub(pages, "page")
	if err != nil {
		panic(err) // the name is a constant
	}
	process := time.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ui/graph.json", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, struct {
			File  string `json:"file"`
			Nodes []Node `json:"nodes"`
		}{p.File, append([]Node{}, p.Graph...)})
	})
	mux.HandleFunc("GET /ui/status.json", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, newAnswer(p.Asked(), process, time.Now()))
	})
	mux.Handle("GET /ui/", http.StripPrefix("/ui/", plainFiles(files)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store") // the next start may be another program
		mux.ServeHTTP(w, r)
	})
}

// plainFiles serves files, and no lists of them.
func plainFiles(files fs.FS) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path
		if name == "" {
			name = "index.html"
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
		w.Write(data) // who asked may have gone
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) // who asked may have gone
}
