package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// of returns settings for packages of testdata, with all their mutants in one draw, one at a time.
func of(dirs ...string) settings {
	s := settings{seed: 1, mutants: 1000, least: 95, parallel: 1, patience: time.Second}
	for _, dir := range dirs {
		s.subjects = append(s.subjects, "testdata/"+dir)
	}
	return s
}

func loaded(t *testing.T, dir string) *subject {
	t.Helper()
	s, err := load(t.Context(), "testdata/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReasons checks that each line of reasons.txt is about an existing mutant.
func TestReasons(t *testing.T) {
	t.Chdir("../../..")
	var all []*subject
	for _, dir := range subjects {
		s, err := load(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if _, err := readReasons(reasonsFile, all); err != nil {
		t.Error(err)
	}
}

// TestSound checks that tests that notice every change kill every mutant: tests of the package itself, tests of the
// package beside it, and examples.
func TestSound(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, of("sound")); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"mutants: 13\n", "compiled: 13\n", "killed: 13\n", "survived: 0\n",
		"percent: 100.0\n", "killed_by_time_alone: 2\n"} {
		if !strings.Contains(out.String(), "\n"+want) {
			t.Errorf("want %q in:\n%s", want, &out)
		}
	}
}

// TestGappy checks that a mutant that no test notices is printed with its place, its diff, the number of tests that
// reach it and its reason; all count as survivors.
func TestGappy(t *testing.T) {
	s := of("gappy")
	s.reasons = "testdata/gappy/reasons.txt"
	var out strings.Builder
	err := run(t.Context(), &out, s)
	if err == nil || !strings.HasPrefix(err.Error(), "44.4 % of the mutants were killed, less than 95 %") {
		t.Errorf("got error %v", err)
	}
	want := []string{
		`SURVIVED testdata/gappy/gappy.go:13: Reset: change the constant 0 to 1
    - func Reset(points *int) { *points = 0 }
    + func Reset(points *int) { *points = 1 }
    no test reaches it
`, `SURVIVED testdata/gappy/gappy.go:13: Reset: remove the assignment "*points = 0"
    - func Reset(points *int) { *points = 0 }
    + func Reset(points *int) {  }
    no test reaches it
`, `SURVIVED testdata/gappy/gappy.go:17: Apply: change the constant 0 to 1
    - 	last = points + 0
    + 	last = points + 1
    tests that reach it: 1
`, `SURVIVED testdata/gappy/gappy.go:17: Apply: remove the assignment "last = points + 0"
    - 	last = points + 0
    equivalent: Nobody reads it.
`, `SURVIVED testdata/gappy/gappy.go:9: Grade: change the constant "poor"
    - 	return "poor"
    + 	return "poor-changed"
    no test reaches it
`,
		"mutants: 9\ncompiled: 9\nkilled: 4\nkilled_by_time_alone: 0\nsurvived: 5\nsurvived_with_a_reason: " +
			"1\nreached_by_no_test: 3\n",
	}
	for _, part := range want {
		if !strings.Contains(out.String(), part) {
			t.Errorf("want this in the report:\n%s", part)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// TestNothingToSay checks that the tool fails with the reason if no test can judge the mutants.
func TestNothingToSay(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*settings)
		dir    string
		want   string
	}{
		"RedTests": {"Tests that fail anyway would kill everything.", nil, "red",
			"the tests of testdata/red fail without a mutation"},
		"Skipped": {"A test that is left out says nothing, and cannot fail.",
			func(s *settings) { s.skip = "TestYes" }, "red", "the tests of testdata/red say nothing of themselves"},
		"NoTests":   {"A package without tests is an error.", nil, "untested", "testdata/untested has no tests"},
		"NoPackage": {"A package that is not there is an error.", nil, "nowhere", "lstat "},
		"NoMutant": {"No mutant is no proof.", func(s *settings) { s.at = "testdata/red/red.go:99" }, "red",
			"there is no mutant to try"},
		"StaleReason": {"A reason for what is not there any more is an error.",
			func(s *settings) { s.reasons = "testdata/gappy/stale.txt" }, "gappy",
			"testdata/gappy/stale.txt:1: there is no such mutant"},
		"NoReason": {"A mutant is not excused without a reason.",
			func(s *settings) { s.reasons = "testdata/gappy/short.txt" }, "gappy",
			"testdata/gappy/short.txt:1: want file | function | mutation | reason"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := of(tc.dir)
			if tc.change != nil {
				tc.change(&s)
			}
			err := run(t.Context(), new(strings.Builder), s)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s\nrun: got error %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestLeavesNothingBehind checks that the sources stay unchanged, that the temporary folder is removed, and that a
// stopped run returns an error.
func TestLeavesNothingBehind(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	before := sources(t)
	if err := run(t.Context(), new(strings.Builder), of("red")); err == nil {
		t.Error("tests that fail are an error")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := run(ctx, new(strings.Builder), of("red")); err == nil {
		t.Error("a run that is stopped is an error")
	}
	if diff := cmp.Diff(before, sources(t)); diff != "" {
		t.Errorf("the sources were changed: -want, +got:\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(tmp, "mutate-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func sources(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("testdata/*/*.*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	imported, err := filepath.Glob("testdata/*/*/*.*")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, imported...)
	all := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
}
