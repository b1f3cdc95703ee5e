package runtime

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomText is short, and few letters make many equal beginnings and ends.
func randomText(r *rand.Rand) []byte {
	text := make([]byte, r.IntN(40))
	for i := range text {
		text[i] = byte(r.IntN(3))
	}
	return text
}

// TestKey shows that keys of every length keep their text and stay apart.
func TestKey(t *testing.T) {
	p := &Pane[int]{slots: make([]slot[int], minSlots)}
	want := map[string]int{}
	r := seeded(t)
	for range rounds {
		text := randomText(r)
		k := hashKey(text)
		*p.state(&k, text, 1)++
		want[string(text)]++
	}
	got := map[string]int{}
	for text, s := range p.All() {
		got[string(text)] = *s
	}
	if !maps.Equal(got, want) || len(got) != p.Len() || len(got) != len(p.dirty) {
		t.Errorf("%d keys, Len %d, dirty %d; want %d", len(got), p.Len(), len(p.dirty), len(want))
	}
}

// TestKeyOrder shows that the two words of a short key have the order of its bytes.
func TestKeyOrder(t *testing.T) {
	r := seeded(t)
	for range rounds {
		x, y := randomText(r), randomText(r)
		x, y = x[:min(len(x), inlineKey)], y[:min(len(y), inlineKey)]
		a, b := hashKey(x), hashKey(y)
		got := cmpWords([3]uint64{a.a, a.b, uint64(a.n)}, [3]uint64{b.a, b.b, uint64(b.n)})
		if got != bytes.Compare(x, y) {
			t.Fatalf("%x and %x: %d", x, y, got)
		}
	}
}

func cmpWords(x, y [3]uint64) int { return slices.Compare(x[:], y[:]) }

// TestHash fixes the hash: state is kept by key group, so another hash would not find it again.
func TestHash(t *testing.T) {
	for text, want := range map[string]uint64{
		"":                                    0x18c7fcc651d1587e,
		"a":                                   0xebc49251b9e9e365,
		"user":                                0x8d8b84d18fbfc72a,
		"user-0012345":                        0x264b84bbcb9cb952,
		"16 bytes of text":                    0xcbc57c6bd6738d79,
		"17 bytes of text!":                   0x10d2ac250cd2acde,
		"a key of more than thirty-two bytes": 0x74a83ea3d9f8b959,
	} {
		if k := hashKey([]byte(text)); k.hash != want {
			t.Errorf("%q: %#x, not %#x", text, k.hash, want)
		}
	}
}

// TestGroups shows that the groups of keys are about equally large.
func TestGroups(t *testing.T) {
	for _, form := range []string{"user-%07d", "%d", "%064d", "a-key-of-more-than-sixteen-bytes-%d"} {
		var sizes [1 << groupBits]int
		const perGroup = 300
		for i := range perGroup << groupBits {
			k := hashKey(fmt.Appendf(nil, form, i))
			sizes[groupOf(k.hash)]++
		}
		if least, most := slices.Min(sizes[:]), slices.Max(sizes[:]); least < perGroup*7/10 || most > perGroup*13/10 {
			t.Errorf("%s: between %d and %d keys in a group, want about %d", form, least, most, perGroup)
		}
	}
}

// keyRow is a value of each kind that a key may have.
type keyRow struct {
	text     []byte
	whole    int64
	flag     bool
	small    int64
	large    Int128
	at       Time
	length   Time
	nullable Opt[[]byte]
}

func (k keyRow) append(b []byte) []byte {
	b = AppendKeyString(b, k.text)
	b = AppendKeyInt(b, k.whole)
	b = AppendKeyBool(b, k.flag)
	b = AppendKeyDecimal(b, k.small)
	b = AppendKeyDecimal128(b, k.large)
	b = AppendKeyTime(b, k.at)
	b = AppendKeyDuration(b, k.length)
	if b = AppendKeyNull(b, k.nullable.OK); k.nullable.OK {
		b = AppendKeyString(b, k.nullable.V)
	}
	return b
}

func (k *keyRow) read(b []byte) []byte {
	k.text, b = ReadKeyString(b)
	k.whole, b = ReadKeyInt(b)
	k.flag, b = ReadKeyBool(b)
	k.small, b = ReadKeyDecimal(b)
	k.large, b = ReadKeyDecimal128(b)
	k.at, b = ReadKeyTime(b)
	k.length, b = ReadKeyDuration(b)
	if k.nullable.OK, b = ReadKeyNull(b); k.nullable.OK {
		k.nullable.V, b = ReadKeyString(b)
	}
	return b
}

// TestKeyCodec shows that keys come back, and that different ones have different bytes.
func TestKeyCodec(t *testing.T) {
	r := seeded(t)
	seen := map[string]string{}
	few := func() int64 { return int64(r.IntN(3)) - 1 }
	for range rounds {
		k := keyRow{
			text: randomText(r), whole: few(), flag: r.IntN(2) == 0, small: few() << 40, large: Int128{few(), uint64(r.IntN(2))},
			at: Time(few()), length: Time(few()),
		}
		k.text = k.text[:min(len(k.text), 2)]
		if r.IntN(2) == 0 {
			k.nullable = Some(bytes.Repeat([]byte{1}, r.IntN(2)))
		}
		b := k.append(nil)
		var back keyRow
		rest := back.read(b)
		if text := fmt.Sprint(k); rest == nil || len(rest) != 0 || fmt.Sprint(back) != text {
			t.Fatalf("%x: got %v, rest %v; want %s", b, back, rest, text)
		} else if other, ok := seen[string(b)]; ok && other != text {
			t.Fatalf("%s and %s are both %x", other, text, b)
		} else {
			seen[string(b)] = text
		}
		for n := range b { // whatever is cut off shows
			if back.read(b[:n]) != nil {
				t.Fatalf("%x is a key", b[:n])
			}
		}
	}
}

// TestStateCodec is the same for state.
func TestStateCodec(t *testing.T) {
	r := seeded(t)
	for range rounds {
		i, x, y := randomInt(r), of128(randomDecimal(r, 38)), Int192{randomInt(r), r.Uint64(), r.Uint64() >> r.IntN(64)}
		f, flag, at := float64(randomInt(r))/3, r.IntN(2) == 0, Time(randomInt(r))
		b := AppendStateInt(nil, i)
		b = AppendStateInt128(b, x)
		b = AppendStateInt192(b, y)
		b = AppendStateFloat(b, f)
		b = AppendStateBool(b, flag)
		b = AppendStateTime(b, at)
		read := func(b []byte) (same bool, rest []byte) {
			i2, b := ReadStateInt(b)
			x2, b := ReadStateInt128(b)
			y2, b := ReadStateInt192(b)
			f2, b := ReadStateFloat(b)
			flag2, b := ReadStateBool(b)
			at2, b := ReadStateTime(b)
			return i2 == i && x2 == x && y2 == y && f2 == f && flag2 == flag && at2 == at, b
		}
		if same, rest := read(b); !same || rest == nil || len(rest) != 0 {
			t.Fatalf("%x", b)
		}
		for n := range b {
			if _, rest := read(b[:n]); rest != nil {
				t.Fatalf("%x of %x is a state", b[:n], b)
			}
		}
	}
	if _, rest := ReadStateBool([]byte{2}); rest != nil {
		t.Error("2 is a bool")
	}
}

// TestSized is about lengths that lie.
func TestSized(t *testing.T) {
	for _, b := range [][]byte{nil, {5, 1}, binary.AppendUvarint(nil, 1<<63), bytes.Repeat([]byte{0x80}, 11), []byte(strings.Repeat("\xff", 9) + "\x01")} {
		if _, rest := takeSized(b); rest != nil {
			t.Errorf("%x", b)
		}
	}
}
