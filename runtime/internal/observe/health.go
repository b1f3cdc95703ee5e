package observe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// Source gives the status of a pipeline. It is called from many goroutines.
type Source func() engine.Status

// patience is added to every limit of the engine before its passing counts here: the engine acts first, and says why.
const patience = 15 * time.Second

// missed is how many checkpoint intervals may pass on top of what a checkpoint may take.
const missed = 3

// Alive says why a pipeline makes no progress and does not try to either; nil: it does. A process that is not
// alive is worth a restart. One that waits for Kafka, or pauses between two attempts, is alive: a new process would wait too.
func Alive(s engine.Status, now time.Time) []string {
	var why []string
	if s.Phase == engine.Finished {
		why = append(why, "the pipeline has ended")
	}
	if limit := engine.StopDeadline + patience; s.Phase == engine.Stopping && now.Sub(s.Since) > limit {
		why = append(why, fmt.Sprintf("stopping takes longer than %v", limit))
	}
	if c, limit := s.InFlight, engine.CheckpointTimeout+engine.CommitTimeout+engine.TeardownTimeout+patience; c != nil && now.Sub(c.Since) > limit {
		why = append(why, fmt.Sprintf("checkpoint %d takes longer than %v, waiting for %s", c.Number, limit, c.Waiting))
	}
	return why
}

// Ready says why a pipeline does not process its input; nil: it does. It has started, is not about to stop, and its last
// checkpoint, or if there was none its start, is no older than Overdue.
func Ready(s engine.Status, now time.Time) []string {
	why := Alive(s, now)
	if s.Phase != engine.Running {
		text := "the pipeline is " + s.Phase.String()
		if s.Phase == engine.Restarting && s.Failure != nil {
			text += ": " + s.Failure.Text
		}
		return append(why, text)
	}
	last := s.Since
	if s.Checkpoint != nil && s.Checkpoint.At.After(last) {
		last = s.Checkpoint.At
	}
	if age, limit := now.Sub(last), Overdue(s.Interval); age > limit {
		why = append(why, fmt.Sprintf("no checkpoint was complete for %v; expected one every %v", age.Round(time.Second), limit))
	}
	return why
}

// Overdue is the age at which a running pipeline's last checkpoint is too old: a quiet pipeline makes one
// every engine.QuietCheckpoint, each may take engine.CheckpointTimeout, and some intervals may be missed.
func Overdue(interval time.Duration) time.Duration {
	return engine.QuietCheckpoint + engine.CheckpointTimeout + missed*interval
}

// health is the answer of /healthz and /readyz.
type health struct {
	Pipeline   string            `json:"pipeline"`
	OK         bool              `json:"ok"`
	Phase      string            `json:"phase"`
	Since      time.Time         `json:"since,omitzero"`
	Why        []string          `json:"why,omitempty"` // it is not OK
	Checkpoint *healthCheckpoint `json:"checkpoint,omitempty"`
	Restarts   int64             `json:"restarts"`
	Failure    *healthFailure    `json:"failure,omitempty"` // the last one
}

type healthCheckpoint struct {
	Number     int64     `json:"number"`
	At         time.Time `json:"at"`
	AgeSeconds float64   `json:"age_seconds"`
}

type healthFailure struct {
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// MountHealth mounts /healthz and /readyz. They answer 200, or 503 with the reasons, and JSON in both cases.
func (s *Server) MountHealth(source Source) {
	s.Handle("GET /healthz", "whether the process works or tries to; if not, restart it", healthHandler(source, Alive))
	s.Handle("GET /readyz", "whether the pipeline processes its input", healthHandler(source, Ready))
}

func healthHandler(source Source, judge func(engine.Status, time.Time) []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status, now := source(), time.Now()
		why := judge(status, now)
		answer := health{
			Pipeline: status.Pipeline, OK: len(why) == 0, Phase: status.Phase.String(), Since: status.Since, Why: why, Restarts: status.Restarts,
		}
		if c := status.Checkpoint; c != nil {
			answer.Checkpoint = &healthCheckpoint{c.Number, c.At, now.Sub(c.At).Seconds()}
		}
		if f := status.Failure; f != nil {
			answer.Failure = &healthFailure{f.Text, f.At}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if !answer.OK {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		json.NewEncoder(w).Encode(answer) // who asked may have gone
	})
}
