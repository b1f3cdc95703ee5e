package main

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepository holds the table of this repository against its sources. Whether the tests run is seen by `make test`.
func TestRepository(t *testing.T) {
	const root = "../.."
	table, err := readTable(root)
	if err == nil {
		err = table.static(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	tests := 0
	for _, r := range table.rows {
		tests += len(r.tests)
	}
	if len(table.rows) < 50 || tests < 50 {
		t.Errorf("%d faults with %d tests: the table is not read as it is meant", len(table.rows), tests)
	}
}

// source is a package whose tests end in every way.
const source = `package p

import "testing"

func TestGood(t *testing.T) { t.Log("said by a good one") }

func TestParts(t *testing.T) {
	t.Run("a b", func(t *testing.T) {})
	t.Run("c", func(t *testing.T) {})
}

func TestSkipped(t *testing.T) {
	t.Log("first this")
	t.Skip("no Kafka broker for tests:\njava is not installed")
}

func TestOther(t *testing.T) { t.Skip("the kernel is too old") }

func TestMute(t *testing.T) { t.SkipNow() }

func TestPartlySkipped(t *testing.T) {
	t.Run("there", func(t *testing.T) {})
	t.Run("not there", func(t *testing.T) { t.Skip("no Kafka broker for tests") })
	t.Run("nor here", func(t *testing.T) { t.Skip("only on the moon") })
}
`

const bad = `
func TestBad(t *testing.T) {
	t.Log("said by a bad one")
	t.Run("part", func(t *testing.T) { t.Error("wrong result") })
}
`

const panics = `
func TestBad(t *testing.T) { panic("all is over") }
`

// module makes a module with two packages that have tests, and a table whose only row has the given cell.
func module(t *testing.T, source, shown string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.26\n",
		"a/p_test.go":    source,
		"b/o_test.go":    "//go:build nosuchsystem\n\npackage b\n\nimport \"testing\"\n\nfunc TestOfOthers(t *testing.T) {}\n",
		"b/b_test.go":    "package b\n\nimport \"testing\"\n\nfunc TestElsewhere(t *testing.T) {}\n",
		"docs/faults.md": "# Faults\n\n| id | wrong | answer | shown by | seen in |\n|---|---|---|---|---|\n| F01 | it breaks | it is mended | " + shown + " | nowhere |\n",
	} {
		path = filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestRun runs go test on a small module: what is printed, and when it is a failure.
func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		source, shown string
		strict        bool
		code          int
		says, lacks   []string // of what is printed
	}{
		"good":            {source, "`a.TestGood`, `a.TestParts/a_b`", true, 0, []string{"ok  \texample.com/m/a", "ok  \texample.com/m/b"}, []string{"said by a good one", "PASS", "Action"}},
		"no such test":    {source, "`a.TestNone`", false, 1, []string{"docs/faults.md:5: F01 names a.TestNone: the package has no test TestNone"}, []string{"ok  "}},
		"no such package": {source, "`c.TestGood`", false, 1, []string{"F01 names c.TestGood: there is no such package"}, []string{"ok  "}},
		"other package":   {source, "`b.TestGood`", false, 1, []string{"F01 names b.TestGood: the package has no test"}, nil},
		"other system":    {source, "`b.TestOfOthers`", true, 0, []string{"NOT FOR THIS SYSTEM, so that nobody knows whether eoc's answer to F01 holds here: b.TestOfOthers"}, nil},
		"no such part":    {source, "`a.TestParts/d`", false, 1, []string{"ok  \texample.com/m/a", "F01 names a.TestParts/d: it did not run"}, nil},
		"bad":             {source + bad, "`a.TestBad`", false, 1, []string{"--- FAIL: TestBad (", "said by a bad one", "--- FAIL: TestBad/part", "wrong result", "FAIL\texample.com/m/a", "F01 names a.TestBad: it failed"}, []string{"said by a good one", "=== RUN"}},
		"panics":          {source + panics, "`a.TestGood`", false, 1, []string{"panic: all is over", "FAIL\texample.com/m/a"}, []string{"F01"}},
		"does not build":  {source + "oops", "`b.TestElsewhere`", false, 1, []string{"expected declaration", "FAIL\texample.com/m/a"}, []string{"F01"}},
		"not a test":      {source, "`a.Good`", false, 1, []string{`docs/faults.md:5: F01: "a.Good" is no test`}, []string{"ok  "}},
		"no reason":       {source, "later", false, 1, []string{"F01: it names no test and does not say why"}, []string{"ok  "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			root := module(t, c.source, c.shown)
			if code := run(root, []string{"go", "test", "./..."}, c.strict, &out, &errs); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			printed := out.String() + errs.String()
			for _, text := range c.says {
				if !strings.Contains(printed, text) {
					t.Errorf("%q is not in it", text)
				}
			}
			for _, text := range c.lacks {
				if strings.Contains(printed, text) {
					t.Errorf("%q is in it", text)
				}
			}
			if t.Failed() {
				t.Logf("printed was:\n%s", printed)
			}
		})
	}
}

// TestRunsOfSeveral runs go test twice. Each counts, for the table and for the exit code, and one that fails does not keep the next from running.
func TestRunsOfSeveral(t *testing.T) {
	for _, c := range []struct {
		source string
		code   int
	}{{source, 0}, {source + bad, 1}} {
		var out, errs strings.Builder
		code := run(module(t, c.source, "`a.TestGood`, `b.TestElsewhere`"), []string{"go", "test", "./a", "--", "go", "test", "./b"}, true, &out, &errs)
		if code != c.code || !strings.Contains(out.String(), "ok  \texample.com/m/b") || strings.Contains(errs.String(), "did not run") {
			t.Errorf("exit code %d, want %d\n%s%s", code, c.code, &out, &errs)
		}
	}
	if code := run(t.TempDir(), []string{"go", "test", "./a", "--", "go", "vet"}, true, io.Discard, io.Discard); code != 2 {
		t.Errorf("what is no test: exit code %d", code)
	}
}

const noKafka = "no Kafka broker for tests"

// TestEnds holds rows against tests that have ended in every way.
func TestEnds(t *testing.T) {
	cmd := exec.Command("go", "test", "-json", "./a")
	cmd.Dir = module(t, source, "needs it")
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	ran, err := render(bytes.NewReader(said), &out)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		strict, lax string // what is wrong if a test that was skipped for want of a Kafka has not run, and if that is told only
		why         string // of the skip that is told
	}{
		"TestGood":                    {"", "", ""},
		"TestParts/c":                 {"", "", ""},
		"TestParts/d":                 {"did not run", "did not run", ""},
		"TestSkipped":                 {"was skipped, in whole or in part: " + noKafka + ": java is not installed", "", noKafka + ": java is not installed"},
		"TestOther":                   {"", "", "the kernel is too old"},
		"TestMute":                    {"", "", "it says no reason"},
		"TestPartlySkipped":           {"was skipped, in whole or in part: " + noKafka + "; only on the moon", "", noKafka + "; only on the moon"},
		"TestPartlySkipped/there":     {"", "", ""},
		"TestPartlySkipped/notthere":  {"did not run", "did not run", ""},
		"TestPartlySkipped/not_there": {"was skipped, in whole or in part: " + noKafka, "", noKafka},
		"TestPartlySkipped/nor_here":  {"", "", "only on the moon"},
	} {
		table := &table{module: "example.com/m", rows: []row{{5, "F01", []test{{"example.com/m/a", name}}}}}
		for _, strict := range []bool{true, false} {
			var told strings.Builder
			got, want := table.check(ran, strict, &told), c.lax
			if strict {
				want = c.strict
			}
			if (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), "F01 names a."+name+": it "+want) {
				t.Errorf("%s, strict %v: %v, want %q", name, strict, got, want)
			}
			tells := ""
			if c.why != "" && want == "" {
				tells = "SKIPPED, so that nobody knows whether eoc's answer to F01 holds here: a." + name + ": " + c.why + "\n"
			}
			if told.String() != tells {
				t.Errorf("%s, strict %v: told %q, want %q", name, strict, told.String(), tells)
			}
		}
	}
}

// TestCheck is about what go test seldom says.
func TestCheck(t *testing.T) {
	stream := `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestBegun"}
{"Action":"output","Package":"m/a","Test":"TestBegun","Output":"half a line"}
not json
`
	var out strings.Builder
	ran, err := render(strings.NewReader(stream), &out)
	if err != nil || !maps.Equal(ran, map[test]result{{"m/a", "TestBegun"}: {}}) {
		t.Errorf("ran %v, %v", ran, err)
	}
	if out.String() != "not json\nhalf a line" {
		t.Errorf("printed %q", out.String())
	}
	table := &table{module: "m", rows: []row{{7, "F02", []test{{"m/a", "TestBegun"}}}, {8, "F03", []test{{"m/b", "TestBegun"}}}}}
	err = table.check(ran, false, &out)
	want := "docs/faults.md:7: F02 names a.TestBegun: it began and did not end\n" +
		"docs/faults.md:8: F03 names b.TestBegun: it did not run; a test of that name is in m/a"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// TestWrongRows are rows that cannot be read.
func TestWrongRows(t *testing.T) {
	for text, want := range map[string]string{
		"| F01 | a | b | needs c |\n":                                           "4 columns",
		"| F01 | a | | needs c | d |\n":                                         "column 3 is empty",
		"| F01 | a | b | needs c | d |\n| F01 | a | b | needs c | d |\n":        "twice",
		"| F1 | a | b | needs c | d |\n":                                        "no rows",
		"| KAFKA-1 | a | b | open: c | d |\n| F02 | a | b | no test: c | d |\n": "",
	} {
		root := module(t, source, "needs it")
		if err := os.WriteFile(filepath.Join(root, "docs", "faults.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readTable(root)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
