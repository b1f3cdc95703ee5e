package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/crashtest"
)

// What was found before a test ended early is printed, and the command ends with what ended it.
func TestTellBeforeEnd(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out strings.Builder
		report := &crashtest.Report{File: "orders.eo", Seed: 7}
		err := testFlags{json: asJSON}.tell(report, context.Canceled, streams{out: &out})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("json %v: the error is %v", asJSON, err)
		}
		if said := out.String(); asJSON != json.Valid([]byte(said)) || !strings.Contains(said, "orders.eo") {
			t.Errorf("json %v: printed is %q", asJSON, said)
		}
	}
	if err := (testFlags{}).tell(nil, context.Canceled, streams{}); err != context.Canceled {
		t.Errorf("without a report: %v", err)
	}
}
