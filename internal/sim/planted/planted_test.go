package planted

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = `package main

import "fmt"

type box[T any] struct{ of T }

func (b *box[T]) holds(_ string, more ...T) (n int, err error) {
	return len(more), nil
}

func twice(n int) int { return 2 * n }

func tell(_ int) {
	fmt.Print("ok ")
}

func main() {
	tell(1)
	n, err := (&box[int]{}).holds("x", 1, 2, 3)
	fmt.Print(n, err, twice(4))
}
`

// TestOverlay checks that one program has all defects, and shows the one that its environment chooses, in functions of
// every form.
func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	write(t, file, source)
	write(t, filepath.Join(dir, "go.mod"), "module example\n\ngo 1.26\n")
	edit := func(from, to string) []Edit { return []Edit{{file, from, to}} }
	overlay, err := Overlay([]Defect{
		{Name: "one-less", Edits: edit("len(more)", "len(more) - 1")},
		{Name: "thrice", Edits: edit("2 * n", "3 * n")},
		{Name: "all-wrong", Edits: append(append(edit(`"ok "`, `"wrong "`), edit("len(more), nil", "0, nil")...),
			edit("int { return 2", "int { return 0")...)},
	}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", program, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v: %s", err, out)
	}
	for chosen, want := range map[string]string{
		"":          "ok 3 <nil> 8",
		"unknown":   "ok 3 <nil> 8",
		"one-less":  "ok 2 <nil> 8",
		"thrice":    "ok 3 <nil> 12",
		"all-wrong": "wrong 0 <nil> 0",
	} {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), Env+"="+chosen)
		got, err := cmd.Output()
		if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
			t.Errorf("%q: %v, -want +got:\n%s", chosen, err, diff)
		}
	}
}

// TestOverlayRefuses checks that every defect that cannot be planted is reported.
func TestOverlayRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main.go")
	write(t, file, source)
	_, err := Overlay([]Defect{
		{Name: "gone", Edits: []Edit{{file, "len(less)", "0"}}},
		{Name: "twofold", Edits: []Edit{{file, "fmt.Print", "fmt.Println"}}},
		{Name: "outside", Edits: []Edit{{file, "of T", "of []T"}}},
	}, t.TempDir())
	for _, name := range []string{"gone", "twofold", "outside"} {
		if err == nil || !strings.Contains(err.Error(), "cannot plant "+name) {
			t.Errorf("error %v does not say that %s cannot be planted", err, name)
		}
	}
}

// TestAll checks that the written defects are read, and that a learned schedule replaces the one before it.
func TestAll(t *testing.T) {
	dir := t.TempDir()
	text := "item: V1\nwhy: because\nbreaks: S1 S2\nschedule: create/opaque\nalone: lost hang-after\nonly: |create\n-- " +
		"a.go --\nold\nlines\n-- becomes --\nnew\n-- b.go --\nx\n-- becomes --\n"
	write(t, filepath.Join(dir, "first.txt"), text)
	for _, schedule := range []string{"create/opaque", "create/named Create#1:lost"} {
		all, err := All(dir)
		if err != nil {
			t.Fatal(err)
		}
		want := Defect{
			Name: "first", Item: "V1", Why: "because", Breaks: []string{"S1", "S2"}, Schedule: schedule,
			Alone: []string{"lost", "hang-after"}, Only: "|create",
			Edits: []Edit{{"a.go", "old\nlines", "new"}, {"b.go", "x", ""}},
		}
		all[0].file = ""
		if diff := cmp.Diff([]string{jsonOf(t, want)}, []string{jsonOf(t, all[0])}); diff != "" || len(all) != 1 {
			t.Errorf("-want +got:\n%s", diff)
		}
		if err := (Defect{file: filepath.Join(dir, "first.txt")}).Learn("create/named Create#1:lost"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAllRefuses checks that a file that is not a defect is an error.
func TestAllRefuses(t *testing.T) {
	for name, c := range map[string]struct{ reason, text string }{
		"Nothing":  {reason: "There is no edit and no client.", text: "why: x\nbreaks: S1\n"},
		"NoReason": {reason: "Nobody knows what it stands for.", text: "breaks: S1\nclient: x\n"},
		"NoEnd":    {reason: "An edit has no new text.", text: "why: x\nbreaks: S1\n-- a.go --\nold\n"},
		"NoBreak":  {reason: "It is not said what it breaks.", text: "why: x\nclient: x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "x.txt"), c.text)
			if _, err := All(dir); err == nil {
				t.Errorf("%s: no error", c.reason)
			}
		})
	}
	if _, err := All(t.TempDir()); err == nil {
		t.Error("an empty folder is no error")
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func jsonOf(t *testing.T, d Defect) string {
	t.Helper()
	data, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		t.Fatal(err)
	}

	return string(data)
}
