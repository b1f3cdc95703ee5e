// Package skip skips tests so that it is seen: nobody reads the names of skipped tests, and what a test does not try on a machine may not hold there.
package skip

import (
	"fmt"
	"os"
	"testing"
)

// NoKafka is in the reason of each test that is skipped for want of a real Kafka. internal/faultcheck knows them by it.
const NoKafka = "no Kafka broker for tests"

// Loudly skips a test. It writes the reason to standard error, as "SKIPPED NAME: reason", a line that internal/faultcheck lets through.
func Loudly(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	fmt.Fprintf(os.Stderr, "SKIPPED %s: %s\n", t.Name(), reason)
	t.Skip(reason)
}
