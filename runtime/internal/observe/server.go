// Package observe shows a running pipeline: over HTTP, as metrics and as a line on a terminal. All it knows is
// engine.Status, which it asks for when somebody looks; records cost nothing.
package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Limits of the server. A page is made from memory and small; who is slower than this is not served.
const (
	headerLimit  = 5 * time.Second  // for the head of a request
	requestLimit = 30 * time.Second // for a request and its answer, profiles aside
	idleLimit    = 2 * time.Minute  // for a connection without a request
	headerBytes  = 16 << 10         // of the head of a request
	bodyBytes    = 1 << 20          // of its body: nothing here takes one
	closeLimit   = 2 * time.Second  // for answers on their way when the program ends
)

// Server serves what a pipeline shows. Handlers may be mounted until Start.
type Server struct {
	http     http.Server
	listener net.Listener
	mux      *http.ServeMux
	log      *slog.Logger
	shown    []endpoint
	patience time.Duration // with answers on their way when it is closed
	done     chan struct{} // closed when Serve has returned; nil before Start
}

// endpoint is a line of the page at /.
type endpoint struct{ path, what string }

// Listen takes the address host:port, or with port 0 a free one. An error is of kind failure.Usage. Nothing is
// answered before Start.
func Listen(address string, log *slog.Logger) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, failure.New(failure.Usage, "name another one with --http or EO_HTTP", plain(err), "the program cannot be reached at %s", address)
	}
	s := &Server{listener: l, mux: http.NewServeMux(), log: log, patience: closeLimit}
	s.http = http.Server{
		Handler:           guard(s.mux, s.local(), log),
		ReadHeaderTimeout: headerLimit, ReadTimeout: requestLimit, WriteTimeout: requestLimit, IdleTimeout: idleLimit,
		MaxHeaderBytes: headerBytes,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// plain leaves out of err what the sentence around it says.
func plain(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err
	}
	return err
}

// local reports whether only this machine reaches the server.
func (s *Server) local() bool {
	a, ok := s.listener.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// guard is around every handler. A server that is for this machine alone answers under its names alone: else a page from elsewhere,
// whose name was made to lead here, could read it in a browser of this machine (DNS rebinding).
// A page that panics is a bug of eoc, which the log says, and no reason for the pipeline to end. Of the request the log gets the path alone.
func guard(h http.Handler, local bool, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if local && !isLocal(r.Host) {
			http.Error(w, "this program answers to this machine alone, as localhost", http.StatusForbidden)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r.Body = http.MaxBytesReader(w, r.Body, bodyBytes)
		defer func() {
			p := recover()
			if p == http.ErrAbortHandler {
				panic(p) // somebody wants the connection to be cut off
			}
			if p != nil {
				log.Error("a page has failed, which is a bug of eoc; the pipeline runs on", "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				http.Error(w, "this page has failed, which is a bug of eoc: the log says where", http.StatusInternalServerError)
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// isLocal reports whether the Host of a request, with or without a port, is a name of this machine.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Handle mounts a handler at a pattern of http.ServeMux, such as "GET /metrics". what says in a few words
// what is there, for the page at /; "" keeps it off that page.
func (s *Server) Handle(pattern, what string, h http.Handler) {
	s.mux.Handle(pattern, h)
	s.shown = append(s.shown, endpoint{pattern[strings.IndexByte(pattern, '/'):], what})
}

// Addr is the address that is listened at.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Start answers requests until Close.
func (s *Server) Start() {
	s.mux.HandleFunc("GET /{$}", s.index)
	address := "http://" + s.Addr().String()
	attrs := []any{"http", address}
	if slices.ContainsFunc(s.shown, func(e endpoint) bool { return e.path == PagePath }) {
		attrs = append(attrs, "page", address+PagePath)
	}
	s.log.Info("shows itself", attrs...)
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the program shows itself no more", "error", err)
		}
	}()
}

// PagePath is where the page for browsers is, if there is one: the log names it.
const PagePath = "/ui/"

func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, e := range s.shown {
		if e.what != "" {
			fmt.Fprintf(w, "%-14s %s\n", strings.TrimSuffix(e.path, "{$}"), e.what)
		}
	}
}

// Close lets answers on their way end, for a moment, and gives the address back. Who is cut off then learns it from the
// context of the request.
func (s *Server) Close() {
	if s.done == nil {
		s.listener.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close()
	}
	<-s.done
}
