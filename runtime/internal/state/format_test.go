package state_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// written is the format of the file in a directory.
func written(t *testing.T, dir string) int {
	t.Helper()
	view, err := state.Look(dir)
	must(t, err)
	must(t, view.Fits(dir, options()))
	return view.Format
}

// edited makes a state with checkpoints 0 and 1, and changes it.
func edited(t *testing.T, fingerprint, newest func(map[string]any)) string {
	t.Helper()
	dir := t.TempDir()
	b := openBolt(t, dir, options())
	must(t, b.Save(made(0, 0)))
	must(t, b.Confirm(0))
	must(t, b.Save(made(1, 0, delta(1, "5 a 1\n"))))
	must(t, b.Edit(fingerprint, newest))
	must(t, b.Close())
	return dir
}

func format(n int) func(map[string]any) { return func(fields map[string]any) { fields["Format"] = n } }

// TestEarlierFormat: a file of format 1 is read. It stays one that an earlier version can read until a checkpoint is written that such a version cannot.
func TestEarlierFormat(t *testing.T) {
	for name, change := range map[string]func(*state.Bolt) error{
		"save":  func(b *state.Bolt) error { return b.Save(made(2, 0)) },
		"adopt": func(b *state.Bolt) error { return b.Adopt([]string{"p-0", "p-1", "q"}) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := edited(t, format(1), nil)
			b := openBolt(t, dir, options())
			must(t, b.Confirm(1))
			must(t, b.Close())
			if got := written(t, dir); got != 1 {
				t.Errorf("format %d after a start that has written no checkpoint, want 1", got)
			}
			b = openBolt(t, dir, options())
			must(t, change(b))
			must(t, b.Close())
			if got := written(t, dir); got != state.Format {
				t.Errorf("format %d behind a checkpoint of this version, want %d", got, state.Format)
			}
			if got := contents(t, openClosed(t, dir)); len(got) == 0 {
				t.Error("the state is gone")
			}
		})
	}
	t.Run("fresh beside another pipeline", func(t *testing.T) {
		dir := edited(t, format(1), nil)
		opt := options()
		opt.Pipeline, opt.Fresh = "q", true
		b := openBolt(t, dir, opt)
		must(t, b.Adopt([]string{"p-0", "p-1", "q"}))
		must(t, b.Close())
		if got := written(t, dir); got != state.Format { // and it is pipeline p's still
			t.Errorf("format %d, want %d", got, state.Format)
		}
	})
}

func openClosed(t *testing.T, dir string) *state.Bolt {
	t.Helper()
	b := openBolt(t, dir, options())
	t.Cleanup(func() { must(t, b.Close()) })
	return b
}

// TestLaterFormat: what a later version has written is refused as such. It is well, so nothing is proposed that gives it up.
func TestLaterFormat(t *testing.T) {
	more := func(fields map[string]any) { fields["Tomorrow"] = 1 }
	for name, c := range map[string]struct{ fingerprint, newest func(map[string]any) }{
		"a later format":                          {format(state.Format + 1), nil},
		"a later format with a field":             {format(state.Format + 1), more},
		"a field of a checkpoint":                 {nil, more},
		"a field of a checkpoint, in a list":      {nil, func(f map[string]any) { more(f["Partitions"].([]any)[0].(map[string]any)) }},
		"a field of what the file says of itself": {more, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := edited(t, c.fingerprint, c.newest)
			refused := func(who string, err error) {
				t.Helper()
				wantKind(t, err, failure.State, "later version of eoc", "run the program that made it")
				for _, word := range []string{"--fresh", "damaged", "copy"} {
					if strings.Contains(err.Error(), word) {
						t.Errorf("%s says %q: %v", who, word, err)
					}
				}
			}
			_, err := state.OpenBolt(dir, options())
			refused("a start", err)
			view, err := state.Look(dir)
			if err == nil {
				err = view.Fits(dir, options())
			}
			refused("a look", err)

			// Who asks for a new incarnation gets one.
			opt := options()
			opt.Fresh = true
			b := openBolt(t, dir, opt)
			must(t, b.Save(made(0, 0)))
			must(t, b.Close())
			if got := written(t, dir); got != state.Format {
				t.Errorf("format %d, want %d", got, state.Format)
			}
		})
	}
}

// An entry whose checksum is right and which is no checkpoint is damage, whatever is unknown in it.
func TestNoLaterFormat(t *testing.T) {
	dir := edited(t, nil, func(f map[string]any) { f["Tomorrow"], f["Number"] = 1, "one" })
	_, err := state.OpenBolt(dir, options())
	wantKind(t, err, failure.State, "damaged")
}

// TestFieldsOfFormat: a program that does not know a field must learn from the format that it is too old. So a new field needs a new format, and the list of that one.
func TestFieldsOfFormat(t *testing.T) {
	var list []string
	for _, v := range state.Header {
		list = append(list, fields(reflect.TypeOf(v), reflect.TypeOf(v).Name())...)
	}
	got := strings.Join(list, "\n") + "\n"
	path := filepath.Join("testdata", fmt.Sprintf("format%d.txt", state.Format))
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		t.Errorf("the fields of a state file are not those of format %d (%s): raise formatVersion, unless no release has it yet, say in its comment what is new, and write the list into the file.\ngot\n%s", state.Format, path, got)
	}
}

// fields is the names in the JSON of a type.
func fields(t reflect.Type, at string) (list []string) {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()) {
		return []string{at}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fields(t.Elem(), at)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-":
			case f.Anonymous && name == "":
				list = append(list, fields(f.Type, at)...)
			default:
				if name == "" {
					name = f.Name
				}
				list = append(list, fields(f.Type, at+"."+name)...)
			}
		}
		return slices.Clip(list)
	}
	return []string{at}
}
