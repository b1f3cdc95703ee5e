package observe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/secure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server with what mount mounts, and closes it at the end of the test.
func serve(t *testing.T, mount func(*Server)) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	mount(s)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// get is the answer to a request on a connection of its own.
func get(t *testing.T, s *Server, path string) (code int, header http.Header, body string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get("http://" + s.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(b)
}

func TestListenTwice(t *testing.T) {
	s := serve(t, func(*Server) {})
	_, err := Listen(s.Addr().String(), slog.New(slog.DiscardHandler))
	if failure.KindOf(err) != failure.Usage || !strings.HasPrefix(err.Error(), "the program cannot be reached at "+s.Addr().String()+": ") ||
		!strings.HasSuffix(err.Error(), "; name another one with --http or EO_HTTP") {
		t.Errorf("an address that is taken: %v", err)
	}
}

// A server that never started gives its address back too.
func TestCloseBeforeStart(t *testing.T) {
	for tries := 1; ; tries++ { // somebody else may have it by then
		s, err := Listen("127.0.0.1:0", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		l, err := net.Listen("tcp", s.Addr().String())
		if err == nil {
			l.Close()
			return
		}
		if tries == 10 {
			t.Fatal(err)
		}
	}
}

// Close waits for an answer on its way, and does not wait for one that does not end.
func TestClose(t *testing.T) {
	for _, endless := range []bool{false, true} {
		entered, release := make(chan struct{}), make(chan struct{})
		s := serve(t, func(s *Server) {
			if !endless {
				s.patience = time.Minute
			}
			s.Handle("GET /slow", "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(entered)
				select {
				case <-release:
					io.WriteString(w, "done")
				case <-r.Context().Done():
				}
			}))
		})
		type answer struct {
			body string
			err  error
		}
		got := make(chan answer)
		transport := &http.Transport{}
		go func() {
			r, err := (&http.Client{Transport: transport}).Get("http://" + s.Addr().String() + "/slow")
			if err != nil {
				got <- answer{err: err}
				return
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			got <- answer{string(b), err}
		}()
		<-entered
		closed := make(chan struct{})
		go func() { s.Close(); close(closed) }()
		if !endless {
			close(release)
		}
		if a := <-got; (a.err != nil) != endless || !endless && a.body != "done" {
			t.Errorf("endless %v: %q, %v", endless, a.body, a.err)
		}
		<-closed
		transport.CloseIdleConnections()
	}
}

func TestIndex(t *testing.T) {
	s := serve(t, func(s *Server) {
		s.MountHealth(func() engine.Status { return engine.Status{} })
		s.MountProfiles()
	})
	code, header, body := get(t, s, "/")
	if code != http.StatusOK || header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.Contains(body, "/readyz ") || !strings.Contains(body, "/debug/pprof/ ") || strings.Contains(body, "{") {
		t.Errorf("%d %s", code, body)
	}
	if code, _, _ := get(t, s, "/nothing"); code != http.StatusNotFound {
		t.Errorf("a path that is not there: %d", code)
	}
}

func TestProfiles(t *testing.T) {
	s := serve(t, (*Server).MountProfiles)
	for path, want := range map[string]int{
		"/debug/pprof/": 200, "/debug/pprof/goroutine?debug=1": 200, "/debug/pprof/heap": 200, "/debug/pprof/nothing": 404,
		"/debug/pprof/profile?seconds=0.01": 200, "/debug/pprof/trace?seconds=0.01": 200,
		"/debug/pprof/profile?seconds=-1": 400, "/debug/pprof/trace?seconds=x": 400,
	} {
		code, _, body := get(t, s, path)
		if code != want || len(body) == 0 {
			t.Errorf("%s: %d with %d bytes, want %d", path, code, len(body), want)
		}
		// Profiles of Go are gzipped, traces have their own head, lists are text.
		if gzipped := bytes.HasPrefix([]byte(body), []byte{0x1f, 0x8b}); gzipped != (strings.HasSuffix(path, "/heap") || strings.HasSuffix(path, "/profile?seconds=0.01")) {
			t.Errorf("%s begins with %q", path, body[:min(len(body), 20)])
		}
	}
	// Nothing is mounted behind the back of the program around an embedded pipeline.
	if _, pattern := http.DefaultServeMux.Handler(&http.Request{Method: "GET", URL: &url.URL{Path: "/debug/pprof/"}}); pattern != "" {
		t.Errorf("http.DefaultServeMux has %s", pattern)
	}
}

// condition is a status of a pipeline.
type condition struct {
	name         string
	s            engine.Status
	alive, ready string // a part of the reasons; "": it is
}

// conditions are what can be said of a pipeline at a time.
func conditions(now time.Time) []condition {
	fail := &engine.Failure{Text: "Kafka is away", At: now}
	checkpointed := func(age time.Duration) *engine.CheckpointStatus {
		return &engine.CheckpointStatus{Number: 7, At: now.Add(-age)}
	}
	old := now.Add(-time.Hour)
	return []condition{
		{"starting", engine.Status{Phase: engine.Starting, Since: old}, "", "the pipeline is starting"},
		{"just running", engine.Status{Phase: engine.Running, Since: now}, "", ""},
		{"running", engine.Status{Phase: engine.Running, Since: old, Checkpoint: checkpointed(30 * time.Second), Failure: fail}, "", ""},
		{"running anew", engine.Status{Phase: engine.Running, Since: now, Checkpoint: checkpointed(time.Hour)}, "", ""},
		{"overdue", engine.Status{Phase: engine.Running, Since: old, Checkpoint: checkpointed(2 * time.Minute)}, "", "expected one every 1m3s"},
		{"never one", engine.Status{Phase: engine.Running, Since: old}, "", "no checkpoint was complete for 1h0m"},
		{"long intervals", engine.Status{Phase: engine.Running, Since: old, Checkpoint: checkpointed(2 * time.Minute), Interval: time.Minute}, "", ""},
		{"stuck", engine.Status{Phase: engine.Running, Since: now, InFlight: &engine.InFlight{Number: 8, Since: old, Waiting: "sink writer"}},
			"checkpoint 8 takes longer than 1m55s, waiting for sink writer", "checkpoint 8"},
		{"slow", engine.Status{Phase: engine.Running, Since: now, InFlight: &engine.InFlight{Since: now.Add(-30 * time.Second)}}, "", ""},
		{"restarting", engine.Status{Phase: engine.Restarting, Since: old, Failure: fail}, "", "the pipeline is restarting: Kafka is away"},
		{"stopping", engine.Status{Phase: engine.Stopping, Since: now}, "", "the pipeline is stopping"},
		{"does not stop", engine.Status{Phase: engine.Stopping, Since: old}, "stopping takes longer than 40s", "the pipeline is stopping"},
		{"finished", engine.Status{Phase: engine.Finished, Since: now, Failure: fail}, "the pipeline has ended", "the pipeline is finished"},
	}
}

func TestHealth(t *testing.T) {
	for i, c := range conditions(time.Now()) {
		asked := func() engine.Status { // as it is when it is asked for
			now := conditions(time.Now())[i].s
			now.Pipeline, now.Interval = "orders", cmp.Or(now.Interval, time.Second)
			return now
		}
		s := serve(t, func(s *Server) { s.MountHealth(asked) })
		for path, want := range map[string]string{"/healthz": c.alive, "/readyz": c.ready} {
			code, header, body := get(t, s, path)
			var answer health
			if err := json.Unmarshal([]byte(body), &answer); err != nil || header.Get("Content-Type") != "application/json" {
				t.Fatalf("%s: %s: %s: %v", c.name, path, body, err)
			}
			why := strings.Join(answer.Why, ", ")
			if ok := want == ""; answer.OK != ok || (code == http.StatusOK) != ok || (why == "") != ok || !strings.Contains(why, want) {
				t.Errorf("%s: %s: %d %s; want %q", c.name, path, code, body, want)
			}
			if answer.Pipeline != "orders" || answer.Phase != c.s.Phase.String() || (answer.Failure == nil) != (c.s.Failure == nil) || (answer.Checkpoint == nil) != (c.s.Checkpoint == nil) {
				t.Errorf("%s: %s: %s", c.name, path, body)
			}
		}
		s.Close()
	}
}

// A server for this machine answers under this machine's names; one for others, under any.
func TestHostOfRequest(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {})
	for host, local := range map[string]bool{
		"localhost": true, "LocalHost:9400": true, "127.0.0.1:9400": true, "127.8.0.1": true, "[::1]:9400": true, "[::1]": true, "::1": true,
		"evil.example": false, "evil.example:9400": false, "localhost.evil.example": false, "10.0.0.1:9400": false, "": false,
	} {
		for _, own := range []bool{true, false} {
			r := httptest.NewRequest("GET", "/", nil)
			r.Host = host
			w := httptest.NewRecorder()
			guard(page, own, slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
			if served := w.Code == http.StatusOK; served != (local || !own) {
				t.Errorf("host %q, for this machine alone %t: answered with %d", host, own, w.Code)
			}
		}
	}
	if s := serve(t, func(*Server) {}); !s.local() {
		t.Error("127.0.0.1 is not taken for this machine")
	}
}

// A page that panics is answered and logged, with what a person needs to mend it and no secret: neither of the program nor of who asks.
func TestPanickingPage(t *testing.T) {
	const canary = "Canary-7f3a91"
	var log bytes.Buffer
	s, err := Listen("127.0.0.1:0", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	held := secure.Config{SASL: &secure.SASL{Mechanism: secure.Plain, User: "shop", Secret: secure.Value("EO_SASL_PASSWORD", canary)}}
	s.Handle("GET /broken", "", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(fmt.Sprintf("%+v %#v %v", held, held, *held.SASL)) }))
	s.Handle("GET /whole", "", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "here") }))
	s.Start()
	request, err := http.NewRequest("GET", "http://"+s.Addr().String()+"/broken?key="+canary, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", canary)
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusInternalServerError || strings.Contains(string(body), canary) {
		t.Errorf("answers %s: %s (%v)", answer.Status, body, err)
	}
	if code, _, body := get(t, s, "/whole"); code != http.StatusOK || body != "here" {
		t.Errorf("another page answers %d %s", code, body)
	}
	s.Close()
	for _, want := range []string{"level=ERROR", "path=/broken", "shop", "server_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), canary) {
		t.Errorf("a secret is in the log:\n%s", &log)
	}
}
