package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// byHand are metrics for a closer look, which neither the dashboard nor an alert shows.
var byHand = []string{
	"eo_build_info", "eo_last_failure_timestamp_seconds", "eo_checkpoint_number", "eo_checkpoint_interval_seconds", "eo_checkpoint_in_flight_seconds",
	"eo_records_sent_total", "eo_watermark_timestamp_seconds", "eo_partition_watermark_timestamp_seconds",
}

// expressions are those of the dashboard, by title of the panel.
func expressions(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title, UID string
		Panels     []struct {
			ID          int
			Title, Type string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, LegendFormat string }
		}
		Annotations struct{ List []struct{ Name, Expr string } }
		Templating  struct {
			List []struct{ Name, Query string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	all, ids := map[string][]string{}, map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q: its id %d is another one's, it is too wide, or shows nothing", p.Title, p.ID)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], target.Expr)
		}
	}
	for _, a := range board.Annotations.List {
		all["annotation "+a.Name] = append(all["annotation "+a.Name], a.Expr)
	}
	return all
}

// rule is an alert.
type rule struct {
	Alert       string
	Expr        string
	For         time.Duration
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) []rule {
	t.Helper()
	file, err := os.Open(filepath.Join(folder, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var rules struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	d := yaml.NewDecoder(file)
	d.KnownFields(true)
	if err := d.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range rules.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func testDashboard(t *testing.T, names map[string][]series) {
	for title, list := range expressions(t) {
		for _, e := range list {
			if err := checkExpression(e, names); err != nil {
				t.Errorf("%s: %s: %v", title, e, err)
			}
		}
	}
}

func testAlerts(t *testing.T, names map[string][]series) {
	runbook, err := os.ReadFile(filepath.Join(folder, "..", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, r := range alerts(t) {
		known[r.Alert] = true
		if err := checkExpression(r.Expr, names); err != nil {
			t.Errorf("%s: %s: %v", r.Alert, r.Expr, err)
		}
		if !strings.Contains(string(runbook), "\n| `"+r.Alert+"` | ") {
			t.Errorf("%s has no line in docs/operations.md", r.Alert)
		}
		if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["runbook"] == "" {
			t.Errorf("%s: labels %v, annotations %v", r.Alert, r.Labels, r.Annotations)
		}
	}
	_, table, _ := strings.Cut(string(runbook), "### What to alarm on")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, line := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		if !known[line[1]] {
			t.Errorf("docs/operations.md has a line for %s, which is no alert", line[1])
		}
	}
}

// testAllIsUsed finds what is exposed and shown nowhere: it is forgotten, or not worth its series.
func testAllIsUsed(t *testing.T, names map[string][]series) {
	used := map[string]bool{}
	add := func(expr string) {
		for _, s := range selectors(expr) {
			used[family(s.name)] = true
		}
	}
	for _, list := range expressions(t) {
		for _, e := range list {
			add(e)
		}
	}
	for _, r := range alerts(t) {
		add(r.Expr)
	}
	for _, name := range byHand {
		if used[name] && name != "eo_build_info" {
			t.Errorf("%s is used, so it need not be excepted", name)
		}
		used[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if strings.HasPrefix(name, "eo_") && !used[family(name)] {
			t.Errorf("%s is on no panel and in no alert", name)
		}
	}
}

// family is the name of a histogram without the suffix of its series.
func family(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			return base
		}
	}
	return name
}

// selector is a metric in an expression with the labels that are asked of it.
type selector struct {
	name   string
	labels []string
}

var (
	// token is a word, with what stands in braces or brackets behind it, a string, a number or a sign.
	token    = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*|\{[^}]*\}|\[[^\]]*\]|"[^"]*"|[0-9.]+[a-z]*|==|!=|<=|>=|[-+*/%^<>(),]|\S`)
	matcher  = regexp.MustCompile(`([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)\s*"[^"]*"`)
	interval = regexp.MustCompile(`^\[(\d+[smhd]|\$__rate_interval)\]$`)
	grouping = map[string]bool{"by": true, "without": true, "on": true, "ignoring": true}
	words    = map[string]bool{
		"sum": true, "min": true, "max": true, "rate": true, "increase": true, "deriv": true, "changes": true, "time": true,
		"histogram_quantile": true, "absent_over_time": true, "last_over_time": true, "group": true, "and": true, "or": true, "unless": true,
	}
)

// selectors are the metrics of an expression of PromQL, as far as the files here use it.
func selectors(expr string) []selector {
	var all []selector
	tokens := token.FindAllString(expr, -1)
	for i := 0; i < len(tokens); i++ {
		word := tokens[i]
		if grouping[word] { // its labels follow in parentheses
			i += slices.Index(tokens[i:], ")")
			continue
		}
		if words[word] || !regexp.MustCompile(`^[a-zA-Z_:]`).MatchString(word) {
			continue
		}
		s := selector{name: word}
		if i+1 < len(tokens) && tokens[i+1][0] == '{' {
			for _, m := range matcher.FindAllStringSubmatch(tokens[i+1], -1) {
				s.labels = append(s.labels, m[1])
			}
		}
		all = append(all, s)
	}
	return all
}

// checkExpression says what an expression uses that the program does not expose. Labels that Prometheus adds are there.
func checkExpression(expr string, names map[string][]series) error {
	depth := 0
	for _, tok := range token.FindAllString(expr, -1) {
		switch {
		case tok == "(":
			depth++
		case tok == ")":
			depth--
		case tok[0] == '[' && !interval.MatchString(tok):
			return fmt.Errorf("%s is no interval", tok)
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 {
		return fmt.Errorf("parentheses do not match")
	}
	found := selectors(expr)
	if len(found) == 0 {
		return fmt.Errorf("there is no metric in it")
	}
	known := map[string]bool{"job": true, "instance": true}
	for _, s := range found {
		if names[s.name] == nil {
			return fmt.Errorf("the program exposes no %s", s.name)
		}
		for _, l := range keys(names[s.name]) {
			known[l] = true
		}
	}
	for _, s := range found {
		for _, l := range s.labels {
			if l != "job" && l != "instance" && !slices.Contains(keys(names[s.name]), l) {
				return fmt.Errorf("%s has no label %s", s.name, l)
			}
		}
	}
	for _, group := range regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(group[1], ",") {
			if l = strings.TrimSpace(l); !known[l] {
				return fmt.Errorf("none of its metrics has the label %s", l)
			}
		}
	}
	return nil
}

// The checks find what they are for.
func TestCheckExpression(t *testing.T) {
	names := map[string][]series{"a_total": {{labels: map[string]string{"x": "1"}}}, "b": {{labels: map[string]string{"y": "1"}}}}
	for expr, want := range map[string]string{
		`sum by (x) (rate(a_total{x=~"$x", job="j"}[5m])) / b > 0.5`: "",
		`time() - b > 10 and on (y) b == 1`:                          "",
		`rate(c_total[5m])`:                                          "the program exposes no c_total",
		`sum by (z) (b)`:                                             "none of its metrics has the label z",
		`a_total{y="1"}`:                                             "a_total has no label y",
		`sum(b`:                                                      "parentheses do not match",
		`rate(a_total[5 minutes])`:                                   "[5 minutes] is no interval",
		`1 > 0`:                                                      "there is no metric in it",
		`quantile(0.5, b)`:                                           "the program exposes no quantile",
	} {
		if err := checkExpression(expr, names); fmt.Sprint(err) != want && (err != nil || want != "") {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
	}
}
