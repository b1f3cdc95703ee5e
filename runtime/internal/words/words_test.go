package words

import "testing"

func TestMany(t *testing.T) {
	for n, want := range map[int64]string{0: "0 records are", 1: "1 record is", 2: "2 records are", 11: "11 records are"} {
		if got := Many(n, "record") + " " + Does(n, "is", "are"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
