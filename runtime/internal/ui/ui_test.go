package ui_test

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/ui"
)

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

func serve(t *testing.T, p ui.Page) string {
	server := httptest.NewServer(p.Handler())
	t.Cleanup(server.Close)
	return server.URL + "/ui/"
}

// Every file of the page is served as what it is, under a policy that lets nothing in from elsewhere.
func TestFiles(t *testing.T) {
	url := serve(t, ui.Page{Asked: func() engine.Status { return engine.Status{} }})
	for name, kind := range map[string]string{
		"": "text/html; charset=utf-8", "index.html": "text/html; charset=utf-8", "page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8",
		"errors.js": "text/javascript; charset=utf-8", "flow.js": "text/javascript; charset=utf-8", "graph.js": "text/javascript; charset=utf-8", "format.js": "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml", "graph.json": "application/json", "status.json": "application/json",
	} {
		answer, body := get(t, url+name)
		if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != kind || body == "" {
			t.Errorf("%q: %s, %s, %d bytes", name, answer.Status, answer.Header.Get("Content-Type"), len(body))
		}
		if p := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none';") || strings.Contains(p, "unsafe") || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q: headers %v", name, answer.Header)
		}
		if strings.Contains(body, "//") && strings.Contains(strings.ReplaceAll(body, "http://www.w3.org/", ""), "http") && kind != "application/json" {
			t.Errorf("%q names something elsewhere", name)
		}
	}
	for _, name := range []string{"nothing.js", "../status.go", "page", "%2e%2e/ui.go"} {
		if answer, _ := get(t, url+name); answer.StatusCode != 404 {
			t.Errorf("%q: %s", name, answer.Status)
		}
	}
	if answer, err := http.Post(url+"status.json", "text/plain", nil); err != nil || answer.StatusCode != 405 {
		t.Errorf("a POST: %v, %v", answer, err)
	} else {
		answer.Body.Close()
	}
}

// What is not known yet is null, never a number that looks like one.
func TestStatusJSON(t *testing.T) {
	status := engine.Status{
		Pipeline: "p", Phase: engine.Running, Interval: time.Second,
		Operators: []engine.OperatorStatus{{ID: "none", W: math.MinInt64, Keys: engine.Unknown}, {ID: "end", W: math.MaxInt64}, {ID: "some", W: 1_000_000, Keys: 7}},
		Partitions: []engine.PartitionStatus{
			{Source: "s", Topic: "t", ID: 0, Next: 5, End: -1, Stable: -1, Watermark: math.MinInt64},
			{Source: "s", Topic: "t", ID: 1, Next: 5, End: 9, Stable: 7, Watermark: 3},
		},
		Refusals: []engine.Refusal{
			{Operator: "s", Place: "p.eo:1", Reason: "a: missing", Topic: "t", Partition: 1, Offset: 8, At: time.UnixMilli(5000), N: 2},
			{Operator: "w", Place: "p.eo:3", Reason: "division by zero", WindowStart: 60_000_000, WindowEnd: 120_000_000, At: time.UnixMilli(4000), N: 1},
		},
		Counts: []checkpoint.Count{
			{Operator: "s", Name: "read", Topic: "t", Partition: 0, N: 3}, {Operator: "s", Name: "read", Topic: "t", Partition: 1, N: 4},
			{Operator: "w", Name: "late", Topic: "t", Partition: 1, N: 1}, {Operator: "out", Name: "out", Partition: -1, N: 2},
		},
	}
	_, body := get(t, serve(t, ui.Page{Asked: func() engine.Status { return status }})+"status.json")
	var got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"phase": `"running"`, "interval": "1000", "looked": "null", "inFlight": "null", "history": "[]", "failures": "[]",
		"refusals": `[{"operator":"s","place":"p.eo:1","reason":"a: missing","topic":"t","partition":1,"offset":8,"start":0,"end":0,"at":5000,"n":2},` +
			`{"operator":"w","place":"p.eo:3","reason":"division by zero","partition":0,"offset":0,"start":60000000,"end":120000000,"at":4000,"n":1}]`,
		"operators": `[{"id":"none","watermark":null,"ended":false,"keys":null},{"id":"end","watermark":null,"ended":true,"keys":0},{"id":"some","watermark":1000000,"ended":false,"keys":7}]`,
		"partitions": `[{"source":"s","topic":"t","id":0,"state":"active","next":5,"end":null,"lag":null,"stableLag":null,"watermark":null,"counts":{"read":3}},` +
			`{"source":"s","topic":"t","id":1,"state":"active","next":5,"end":9,"lag":4,"stableLag":2,"watermark":3,"counts":{"late":1,"read":4}}]`,
		"totals": `[{"operator":"s","name":"read","n":7},{"operator":"w","name":"late","n":1},{"operator":"out","name":"out","n":2}]`,
	} {
		if string(got[name]) != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
}
