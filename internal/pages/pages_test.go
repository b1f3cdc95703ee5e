package pages

import (
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	page := "text\n```sh\n# needs a Kafka\neoc\n```\n- item\n\n  ```eo a.eo\n  x\n    y\n  ```\n```\nnothing\n```\n"
	got, err := parse("p.md", []byte(page))
	want := []Block{
		{"p.md", 3, "sh", "", "# needs a Kafka\neoc\n"},
		{"p.md", 9, "eo", "a.eo", "x\n  y\n"},
		{"p.md", 13, "", "", "nothing\n"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%+v (%v)", got, err)
	}
	if got[0].Needs() != "a Kafka" || got[1].Needs() != "" || got[0].File() != "" || got[1].File() != "a.eo" {
		t.Errorf("needs %q, %q; files %q, %q", got[0].Needs(), got[1].Needs(), got[0].File(), got[1].File())
	}
	if _, err := parse("p.md", []byte("```sh\n")); err == nil {
		t.Error("a block without an end is taken")
	}
}

// What a page shows is checked by somebody: nothing else may stand behind a fence.
func TestEveryBlockIsOfAKnownKind(t *testing.T) {
	list, err := Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"sh", "output", "eo", "go", "json", "scenario", "text", "mermaid", "ini", "yaml", "dockerfile", "md"}
	blocks := 0
	for _, p := range list {
		for _, b := range p.Blocks {
			blocks++
			if b.Lang != "" && !slices.Contains(known, b.Lang) {
				t.Errorf("%s: no test looks at blocks of %q: %v", b.Place(), b.Lang, known)
			}
		}
	}
	if blocks < 20 {
		t.Errorf("%d blocks in all", blocks)
	}
}
