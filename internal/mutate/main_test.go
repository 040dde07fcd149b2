package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRun(t *testing.T) {
	type want struct {
		out []string
		err string // how it begins
	}
	cases := map[string]struct {
		reason string
		file   string
		want   want
	}{
		"Sound": {
			reason: "Tests that notice every change kill every mutant; a switch over a value is not exchanged, a default " +
				"clause is not touched.",
			file: "sound/decide.go",
			want: want{out: []string{
				`killed   sound/decide.go:10: delete "case f.Gone"`,
				`killed   sound/decide.go:10: exchange "case f.Gone" with "case f.Paused"`,
				`killed   sound/decide.go:12: delete "case f.Paused"`,
				`killed   sound/decide.go:12: exchange "case f.Paused" with "case f.Changed"`,
				`killed   sound/decide.go:14: delete "case f.Changed"`,
				`killed   sound/decide.go:23: delete "case 1"`,
				`killed   sound/decide.go:25: delete "case 2"`,
				"mutants: 7",
				"survived: 0",
			}},
		},
		"Gappy": {
			reason: "A mutant that no test notices is named with its place, and the tool fails.",
			file:   "gappy/decide.go",
			want: want{
				out: []string{
					`killed   gappy/decide.go:7: delete "case gone"`,
					`SURVIVED gappy/decide.go:7: exchange "case gone" with "case paused"`,
					`killed   gappy/decide.go:9: delete "case paused"`,
					`SURVIVED gappy/decide.go:9: exchange "case paused" with "case changed && !paused"`,
					`SURVIVED gappy/decide.go:11: delete "case changed && !paused"`,
					"mutants: 5",
					"survived: 3",
				},
				err: "3 mutants survived",
			},
		},
		"Nested": {
			reason: "A decision in a case of another is changed as any other.",
			file:   "nested/decide.go",
			want: want{out: []string{
				`killed   nested/decide.go:7: delete "case a"`,
				`killed   nested/decide.go:7: exchange "case a" with "case b"`,
				`killed   nested/decide.go:9: delete "case b"`,
				`killed   nested/decide.go:13: delete "case b"`,
				"mutants: 4",
				"survived: 0",
			}},
		},
		"Apart": {
			reason: "The tests of other files run as well if the file's own test notices nothing.",
			file:   "apart/decide.go",
			want: want{
				out: []string{
					`killed   apart/decide.go:7: delete "case gone"`,
					`killed   apart/decide.go:7: exchange "case gone" with "case paused"`,
					`SURVIVED apart/decide.go:9: delete "case paused"`,
					"mutants: 3",
					"survived: 1",
				},
				err: "1 mutants survived",
			},
		},
		"DoesNotCompile": {
			reason: "A mutant that does not compile was not killed by a test: that is an error, and the compiler's words say " +
				"why. Others are tried all the same.",
			file: "odd/falls.go",
			want: want{
				out: []string{
					`killed   odd/falls.go:7: delete "case long"`,
					`BROKEN   odd/falls.go:7: exchange "case long" with "case short"`,
					"cannot fallthrough final case in switch",
					`BROKEN   odd/falls.go:10: delete "case short"`,
					"cannot fallthrough final case in switch",
					"mutants: 3",
					"survived: 0",
				},
				err: "2 mutants do not compile",
			},
		},
		"NothingToMutate": {
			reason: "No mutant is no proof.",
			file:   "odd/plain.go",
			want:   want{err: "odd/plain.go has no case to delete or to exchange"},
		},
		"RedTests": {
			reason: "Tests that fail anyway would kill everything.",
			file:   "red/decide.go",
			want:   want{err: "the tests fail without a mutation"},
		},
		"NoTests": {
			reason: "A package without tests is an error.",
			file:   "untested/decide.go",
			want:   want{err: "the tests do not run without a mutation:\nthe package has no tests"},
		},
		"NoFile": {
			reason: "A file that is not there is an error.",
			file:   "nowhere/decide.go",
			want:   want{err: "open nowhere/decide.go"},
		},
	}
	t.Chdir("testdata")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := run(&out, tc.file)
			if diff := cmp.Diff(tc.want.out, reported(out.String())); diff != "" {
				t.Errorf("%s\nrun(%s): -want, +got:\n%s", tc.reason, tc.file, diff)
			}
			if got := message(err); !strings.HasPrefix(got, tc.want.err) || (tc.want.err == "") != (err == nil) {
				t.Errorf("%s\nrun(%s): got error %q, want %q", tc.reason, tc.file, got, tc.want.err)
			}
		})
	}
}

// TestOwnTestsRunFirst checks that other tests do not run for a mutant that the own tests of the file kill.
func TestOwnTestsRunFirst(t *testing.T) {
	t.Chdir("testdata")
	for file, want := range map[string]string{
		"apart/decide.go": "^(TestGone)$", "odd/falls.go": "", "untested/decide.go": "",
	} {
		if got, err := testsBeside(file); err != nil || got != want {
			t.Errorf("testsBeside(%s) = %q, %v; want %q", file, got, err, want)
		}
	}
	ran := filepath.Join(t.TempDir(), "ran")
	t.Setenv("APART_RAN", ran)
	if err := run(new(strings.Builder), "apart/decide.go"); err == nil {
		t.Error("no mutant survived")
	}
	text, err := os.ReadFile(ran)
	if err != nil {
		t.Fatal(err)
	}
	// Without a mutation, and with the two that TestGone does not notice.
	if got := strings.Count(string(text), "\n"); got != 3 {
		t.Errorf("the other test ran %d times, want 3", got)
	}
}

// TestLeavesNothingBehind checks that the source stays unchanged and that the temporary folder is removed.
func TestLeavesNothingBehind(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	const file = "testdata/sound/decide.go"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(new(strings.Builder), file); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("the source was changed: -want, +got:\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(tmp, "mutate-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// reported returns the lines of a report, and of the compiler's messages only the part that does not depend on its
// version.
func reported(out string) (lines []string) {
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.Contains(line, "cannot fallthrough final case in switch"):
			lines = append(lines, "cannot fallthrough final case in switch")
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
