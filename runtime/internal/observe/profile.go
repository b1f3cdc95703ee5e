package observe

import (
	"fmt"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"time"
)

// Lengths of profiles over time.
const (
	defaultProfile = 30 * time.Second // as net/http/pprof has it
	longestProfile = 10 * time.Minute
)

// MountProfiles mounts what `go tool pprof` and `go tool trace` ask for, at the paths of net/http/pprof. That
// package itself would also mount them in http.DefaultServeMux, which belongs to the program around an embedded pipeline.
func (s *Server) MountProfiles() {
	const root = "/debug/pprof/"
	s.Handle("GET "+root+"{$}", "profiles of the program, for go tool pprof", http.HandlerFunc(listProfiles))
	s.Handle("GET "+root+"{name}", "", http.HandlerFunc(serveProfile))
	s.Handle("GET "+root+"profile", "", duringProfile(func(w http.ResponseWriter) (func(), error) {
		return pprof.StopCPUProfile, pprof.StartCPUProfile(w)
	}))
	s.Handle("GET "+root+"trace", "", duringProfile(func(w http.ResponseWriter) (func(), error) {
		return trace.Stop, trace.Start(w)
	}))
}

func listProfiles(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "profile?seconds=30\ntrace?seconds=5\n")
	for _, p := range pprof.Profiles() {
		fmt.Fprintf(w, "%s (%d)\n", p.Name(), p.Count())
	}
}

// serveProfile answers with a profile of this moment; debug=1 makes it text.
func serveProfile(w http.ResponseWriter, r *http.Request) {
	p := pprof.Lookup(r.PathValue("name"))
	if p == nil {
		http.Error(w, "there is no such profile; /debug/pprof/ lists them", http.StatusNotFound)
		return
	}
	debug, err := strconv.Atoi(r.FormValue("debug"))
	if err == nil && debug > 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	p.WriteTo(w, debug) // who asked may have gone
}

// duringProfile answers with a profile over some seconds. One of a kind runs at a time.
func duringProfile(start func(http.ResponseWriter) (stop func(), err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		length := defaultProfile
		if text := r.FormValue("seconds"); text != "" {
			seconds, err := strconv.ParseFloat(text, 64)
			if length = time.Duration(seconds * float64(time.Second)); err != nil || length <= 0 || length > longestProfile {
				http.Error(w, fmt.Sprintf("seconds is %q; expected a number up to %v", text, longestProfile.Seconds()), http.StatusBadRequest)
				return
			}
		}
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(length + requestLimit)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		stop, err := start(w)
		if err != nil {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		defer stop()
		select {
		case <-time.After(length):
		case <-r.Context().Done():
		}
	})
}
