package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository makes a git repository with one commit and makes it the working folder.
func repository(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, "code.go", "package code\n")
	write(t, ".gitignore", "bin/\n")
	write(t, page, "# Proof\n\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "Begin"}} {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A fakeRun prints the output of a part, and records which parts ran.
type fakeRun struct {
	ran  []string
	says map[string]string
	err  map[string]error
}

func (f *fakeRun) run(_ context.Context, p part, out io.Writer) error {
	f.ran = append(f.ran, p.name)
	fmt.Fprint(out, f.says[p.name])
	return f.err[p.name]
}

func newTestProof(t *testing.T, f *fakeRun) *proof {
	t.Helper()
	p, err := newProof(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.parts = []part{
		{name: "sim", what: "schedules", bounds: []bound{exactly("violations", 0), atLeast("schedules", 100)}},
		{name: "chaos", what: "faults", bounds: []bound{atMost("leaked", 0)}},
	}
	p.run = f.run
	return p
}

const (
	goodSim   = "schedules: 120\n    sim_test.go:7: violations: 0\n"
	goodChaos = "leaked: 0\n"
)

// TestProofResumes checks that a failed part runs again and a passed one does not until the tree changes, and that the
// page names where each part passed.
func TestProofResumes(t *testing.T) {
	repository(t)
	f := &fakeRun{says: map[string]string{"sim": goodSim, "chaos": goodChaos},
		err: map[string]error{"chaos": errors.New("no server")}}

	if err := newTestProof(t, f).prove(t.Context(), nil, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "chaos") || strings.Contains(err.Error(), "sim") {
		t.Errorf("one part failed: %v", err)
	}

	f.err = nil
	var out strings.Builder
	if err := newTestProof(t, f).prove(t.Context(), nil, &out); err != nil {
		t.Errorf("all parts pass: %v", err)
	}
	if want := []string{"sim", "chaos", "chaos"}; !slices.Equal(f.ran, want) {
		t.Errorf("ran %v, want %v", f.ran, want)
	}
	for _, want := range []string{"sim has passed on this tree already", "left: chaos", "violations 0 (0)",
		"schedules 120 (>= 100)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
	if out, err := os.ReadFile(page); err != nil || strings.Count(string(out), "| schedules 120") > 1 ||
		!strings.Contains(string(out), "| sim | schedules | ") {
		t.Errorf("the page: %v\n%s", err, out)
	}

	write(t, "new.go", "package code\n") // untracked
	f.ran = nil
	if err := newTestProof(t, f).prove(t.Context(), []string{"sim"}, io.Discard); err != nil {
		t.Error(err)
	}
	if want := []string{"sim"}; !slices.Equal(f.ran, want) {
		t.Errorf("the tree changed, and %v ran, want %v", f.ran, want)
	}

	var left strings.Builder
	if err := newTestProof(t, f).unproven(&left); err != nil || strings.Contains(left.String(), "sim ") ||
		!strings.Contains(left.String(), "chaos        not run on this tree; last passed on ") {
		t.Errorf("left: %v\n%s", err, &left)
	}
}

func TestProofHoldsFiguresToBounds(t *testing.T) {
	cases := map[string]struct {
		reason string
		says   string
		want   string // of the error; "": none
	}{
		"Good": {"All figures are within their bounds.", goodSim, ""},
		"Bad": {"A command that exits with 0 may still print what may not be.", "schedules: 120\nviolations: 1\n",
			"violations is 1"},
		"Few":     {"It has to try enough.", "schedules: 99\nviolations: 0\n", "schedules is 99"},
		"Missing": {"What is not printed is not within its bound.", "schedules: 120\n", "violations was not printed"},
		"Last":    {"The last figure of a name counts.", "violations: 1\n" + goodSim, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			repository(t)
			var out strings.Builder
			err := newTestProof(t, &fakeRun{says: map[string]string{"sim": tc.says}}).prove(t.Context(),
				[]string{"sim"}, &out)
			if (err == nil) != (tc.want == "") || !strings.Contains(out.String(), tc.want) {
				t.Errorf("%s\n%v\n%s", tc.reason, err, &out)
			}
		})
	}
}

// TestProofInterrupted checks that an interrupted part has neither passed nor failed.
func TestProofInterrupted(t *testing.T) {
	repository(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fakeRun{}
	p := newTestProof(t, f)
	p.run = func(context.Context, part, io.Writer) error { cancel(); return ctx.Err() }
	if err := p.prove(ctx, nil, io.Discard); err == nil || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("it was stopped: %v", err)
	}
	if r, ok := p.known("sim"); ok {
		t.Errorf("a result of what was stopped: %+v", r)
	}
}

// TestProofTreeChanges checks that a result is dropped if the tree changed while the part ran.
func TestProofTreeChanges(t *testing.T) {
	repository(t)
	p := newTestProof(t, &fakeRun{})
	p.run = func(_ context.Context, _ part, out io.Writer) error {
		write(t, "code.go", "package changed\n")
		_, err := io.WriteString(out, goodSim)
		return err
	}
	if err := p.prove(t.Context(), []string{"sim"}, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "the tree changed while sim ran") {
		t.Errorf("the tree changed: %v", err)
	}
	if r, ok := p.known("sim"); ok {
		t.Errorf("it was kept: %+v", r)
	}
}

// TestTreeHash checks that every change of a compiled file changes the key, also if settings of the user hide it from
// git, and that build results and the page do not.
func TestTreeHash(t *testing.T) {
	repository(t)
	write(t, ".git/info/exclude", "hidden.go\n")
	last, err := treeHash(t.Context())
	if head, errHead := hashOf(t.Context(), "HEAD", false); err != nil || errHead != nil || head != last {
		t.Fatalf("nothing has changed: %s, %s, %v, %v", head, last, err, errHead)
	}
	for _, step := range []struct {
		what    string
		do      func()
		changes bool
	}{
		{"a build", func() { write(t, "bin/x", "x") }, false},
		{"the page", func() { write(t, page, "# Other\n") }, false},
		{"a new file", func() { write(t, "new.go", "package code\n") }, true},
		{"a file that one user excludes", func() { write(t, "hidden.go", "package code\n") }, true},
		{"its lines", func() { write(t, "hidden.go", "package code\r\n") }, true},
		{"its mode", func() { must(t, os.Chmod("new.go", 0o700)) }, true}, // the executable bit
		{"a file less", func() { must(t, os.Remove("code.go")) }, true},
	} {
		step.do()
		key, err := treeHash(t.Context())
		if err != nil || (key != last) != step.changes {
			t.Errorf("%s: the key changed: %t, %v", step.what, key != last, err)
		}
		last = key
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestProofLock checks that a second proof of a checkout does not start while one runs, and that a passed part is on
// the page before the next one ends.
func TestProofLock(t *testing.T) {
	repository(t)
	p := newTestProof(t, &fakeRun{})
	p.run = func(ctx context.Context, of part, out io.Writer) error {
		if of.name == "sim" {
			_, err := io.WriteString(out, goodSim)
			return err
		}
		if err := newTestProof(t, &fakeRun{}).prove(ctx, nil, io.Discard); err == nil ||
			!strings.Contains(err.Error(), "another proof") {
			t.Errorf("a second one: %v", err)
		}
		if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "schedules 120") {
			t.Errorf("the page: %v\n%s", err, text)
		}
		_, err := io.WriteString(out, goodChaos)
		return err
	}
	if err := p.prove(t.Context(), []string{"sim", "sim", "chaos"}, io.Discard); err != nil {
		t.Error(err)
	}
}

// TestProofIgnoresSizes checks that variables that shorten a target for the caller do not shorten the proof.
func TestProofIgnoresSizes(t *testing.T) {
	for _, name := range sizes {
		t.Setenv(name, "1")
	}
	t.Setenv("KEPT", "1")
	var out strings.Builder
	if err := runTo(exec.CommandContext(t.Context(), "env"), &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range sizes {
		if strings.Contains(out.String(), "\n"+name+"=") {
			t.Errorf("%s reaches what is run", name)
		}
	}
	if !strings.Contains(out.String(), "\nKEPT=1\n") {
		t.Errorf("all else does:\n%s", &out)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([A-Z]+) +\?=`).FindAllStringSubmatch(string(makefile), -1) {
		if name := m[1]; name != "BENCH" && !slices.Contains(sizes, name) {
			t.Errorf("%s of the Makefile is not among the sizes", name)
		}
	}
}

func TestUnknownPart(t *testing.T) {
	repository(t)
	err := newTestProof(t, &fakeRun{}).prove(t.Context(), []string{"simm"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "there are: sim chaos") {
		t.Errorf("the error does not say what there is: %v", err)
	}
}

func TestFigures(t *testing.T) {
	got := map[string]float64{}
	f := &figures{of: got}
	for _, text := range []string{"leak", "ed: 0\nseconds: 3.5 of them\n",
		"    a_test.go:12: rounds: 10\nnot: a figure\nFAIL: 3\n", "missed: 1,200\nhalf: 1"} {
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]float64{"leaked": 0, "seconds": 3.5, "rounds": 10}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
