//go:build unix

package kafkatest

import (
	"encoding/base64"
	"testing"
	"time"
)

// A secret is found in every form in which it goes over the wire.
func TestLeaks(t *testing.T) {
	plain := "\x00" + User + "\x00" + Password
	for _, text := range []string{
		"a\nlevel=ERROR password=" + Password + "\nb", Token(time.Now()), base64.StdEncoding.EncodeToString([]byte(plain)),
		base64.StdEncoding.EncodeToString([]byte(Password)), base64.URLEncoding.EncodeToString([]byte("x" + plain)),
	} {
		if found := Leaks(text); len(found) != 1 {
			t.Errorf("%q leaks %q", text, found)
		}
	}
	if found := Leaks("user=" + User + " EO_SASL_PASSWORD\n"); found != nil {
		t.Errorf("%q is no leak", found)
	}
}
