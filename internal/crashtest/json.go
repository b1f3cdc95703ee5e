package crashtest

import (
	"encoding/json"
	"io"
	"time"

	"github.com/eoc-lang/eoc/internal/judge"
)

// Report as JSON.
type (
	reportJSON struct {
		File    string       `json:"file"`
		Passed  bool         `json:"passed"`
		Seed    uint64       `json:"seed"`
		Data    []string     `json:"data"`
		Records int          `json:"records"`
		Rounds  int          `json:"rounds"`
		Outputs []outputJSON `json:"outputs"`
		Planned int          `json:"planned"`
		Runs    []runJSON    `json:"runs"`
		Points  []pointJSON  `json:"points"`
		Seconds float64      `json:"seconds"`
	}
	outputJSON struct {
		Topic   string `json:"topic"`
		Records int    `json:"records"`
	}
	runJSON struct {
		Transactions int         `json:"transactions"`
		Parallelism  int         `json:"parallelism"`
		Schedule     string      `json:"schedule"`
		Deaths       []string    `json:"deaths"`
		Missed       string      `json:"missed,omitempty"`
		Passed       bool        `json:"passed"`
		Faults       []faultJSON `json:"faults,omitempty"`
		Folder       string      `json:"folder,omitempty"`
		Repeat       string      `json:"repeat"`
	}
	faultJSON struct {
		Text    string       `json:"text"`
		Topic   string       `json:"topic,omitempty"`
		Missing []recordJSON `json:"missing,omitempty"`
		TooMany []recordJSON `json:"too_many,omitempty"`
	}
	recordJSON struct {
		Partition int32     `json:"partition"`
		Offset    int64     `json:"offset"`
		Key       *string   `json:"key"`
		Value     *string   `json:"value"`
		Time      time.Time `json:"time"`
	}
	pointJSON struct {
		Point  string `json:"point"`
		Deaths int    `json:"deaths"`
		Why    string `json:"why,omitempty"`
	}
)

// WriteJSON writes the whole report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	out := reportJSON{
		File: r.File, Passed: r.Passed() && r.Tested(), Seed: r.Seed, Data: r.Data, Records: r.Records, Rounds: r.Rounds, Planned: r.Planned, Seconds: r.Took.Seconds(),
	}
	for _, o := range r.Outputs {
		out.Outputs = append(out.Outputs, outputJSON(o))
	}
	for _, p := range r.Points {
		out.Points = append(out.Points, pointJSON{p.Name, p.Deaths, p.Why})
	}
	for _, run := range r.Runs {
		j := runJSON{Transactions: run.Transactions, Parallelism: run.Parallelism, Schedule: run.Schedule.String(), Deaths: []string{},
			Passed: len(run.Faults) == 0, Folder: run.Dir, Repeat: r.commands(run.Case)}
		for _, step := range run.Deaths {
			j.Deaths = append(j.Deaths, step.String())
		}
		if run.Missed != nil {
			j.Missed = run.Missed.Step.String()
		}
		for _, f := range run.Faults {
			fault := faultJSON{Text: f.Text}
			if d := f.Difference; d != nil {
				fault.Topic, fault.Missing, fault.TooMany = d.Topic, recordsJSON(d.Missing), recordsJSON(d.TooMany)
			}
			j.Faults = append(j.Faults, fault)
		}
		out.Runs = append(out.Runs, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

func recordsJSON(records []judge.Record) []recordJSON {
	var out []recordJSON
	text := func(b []byte) *string {
		if b == nil {
			return nil
		}
		s := string(b)
		return &s
	}
	for _, r := range records {
		out = append(out, recordJSON{r.Partition, r.Offset, text(r.Key), text(r.Value), r.Time.UTC()})
	}
	return out
}
