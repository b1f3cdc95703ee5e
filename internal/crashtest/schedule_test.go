package crashtest

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/crashpoint"
)

func TestParseSchedule(t *testing.T) {
	for text, want := range map[string]Schedule{
		"none":                            {},
		"after-store:2":                   {{Point: "after-store", Pass: 2}},
		"after-store":                     {{Point: "after-store", Pass: 1}},
		"kill:130ms":                      {{After: 130 * time.Millisecond}},
		"a:1, abort,startup-after-drop:3": {{Point: "a", Pass: 1}, {Abort: true}, {Point: "startup-after-drop", Pass: 3}},
	} {
		got, err := ParseSchedule(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v (%v), want %v", text, got, err, want)
		}
		if again, err := ParseSchedule(got.String()); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%s: its text is %q, which is %v (%v)", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"kill:x": "kill:DURATION", "kill:-1s": "kill:DURATION", "a:0": "counts from 1", "a:b": "counts from 1",
		"": "or nothing but none", "a,,b": "or nothing but none", ":2": "or nothing but none",
	} {
		if got, err := ParseSchedule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v (%v), want an error with %q", text, got, err, want)
		}
	}
}

func TestCheckSchedule(t *testing.T) {
	points := []string{"after-store", "before-store"}
	for text, want := range map[string]string{
		"after-store:1,abort,kill:1s": "", "after-stor:1": "did you mean after-store?", "xyz:1": "there are after-store, before-store",
	} {
		s, err := ParseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.check(points); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// Every point of a program is scheduled at two passes, or behind two different deaths; also one that nobody here knows of.
func TestEveryPointIsScheduledTwice(t *testing.T) {
	const unknown = "a-new-one"
	points := append(crashpoint.All(), unknown)
	for seed := range uint64(50) {
		all := schedules(points, 5, rand.New(rand.NewPCG(seed, 0)))
		ways := map[string][]string{}
		for _, s := range all {
			for i, step := range s {
				if step.Point != "" {
					ways[step.Point] = append(ways[step.Point], s[:i+1].String())
				}
			}
		}
		for _, p := range points {
			list := slices.Clone(ways[p])
			slices.Sort(list)
			want := 2
			if slices.Contains(crashpoint.First, p) {
				want = 1 // a state is new once
			}
			if n := len(slices.Compact(list)); n < want {
				t.Errorf("seed %d: %s is reached in %d ways, want %d: %v", seed, p, n, want, list)
			}
		}
		if again := schedules(points, 5, rand.New(rand.NewPCG(seed, 0))); !reflect.DeepEqual(all, again) {
			t.Fatalf("seed %d gives two schedules", seed)
		}
	}
}
