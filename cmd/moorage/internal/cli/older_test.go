package cli_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/cli"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// olderFolder has a provider with one kind as the first moorage made it that could upgrade
// one: before there were a chart, images, a policy and most of the tests. It is never made
// again: the record, and the base, which has the text of each file but sums.
const olderFolder = "testdata/older"

// old makes that provider in a folder, with what its author changed.
func old(t *testing.T, edits map[string]string) (dir string) {
	t.Helper()

	base, err := os.ReadFile(filepath.Join(olderFolder, "base.txtar"))
	if err != nil {
		t.Fatal(err)
	}

	record, err := os.ReadFile(filepath.Join(olderFolder, scaffold.Record))
	if err != nil {
		t.Fatal(err)
	}

	files := scaffold.Unpack(base)
	if len(files) < 35 {
		t.Fatalf("%d files are no provider", len(files))
	}

	files[source] = edited(t, files[source], edits)
	files[scaffold.Base], files[scaffold.Record] = string(base), string(record)
	dir = t.TempDir()

	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

// source is the file that the author and the template changed, both.
const source = "internal/controller/berth/berth.go"

// edited returns a text with some of it, which has to be there once, in other words.
func edited(t *testing.T, text string, edits map[string]string) string {
	t.Helper()

	for from, to := range edits {
		if strings.Count(text, from) != 1 {
			t.Fatalf("%q is %d times in\n%s", from, strings.Count(text, from), text)
		}

		text = strings.Replace(text, from, to, 1)
	}

	return text
}

// fresh returns the files of the same provider as it is made today.
func fresh(t *testing.T, dir string) map[string]string {
	t.Helper()

	record, err := os.ReadFile(filepath.Join(dir, scaffold.Record))
	if err != nil {
		t.Fatal(err)
	}

	p, err := scaffold.Read(record)
	if err != nil {
		t.Fatal(err)
	}

	p.Template = scaffold.Template

	plan, err := scaffold.Plan(scaffold.Input{After: p})
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]string{}
	for _, f := range plan {
		out[f.Path] = string(f.Content)
	}

	return out
}

// found returns all files of a folder.
func found(t *testing.T, dir string) map[string]string {
	t.Helper()

	out := map[string]string{}

	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}

		text, err := os.ReadFile(path)
		out[filepath.ToSlash(name)] = string(text)

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// What the author writes into the source: where the template changed nothing, and where it did.
const (
	compares = "\treturn found.Size == mg.Spec.ForProvider.Size\n"
	shows    = "\tmg.Status.AtProvider = v1alpha1.BerthObservation{Size: found.Size, State: found.State}\n"
	showsNow = "\tmg.Status.AtProvider = observation(found)\n"

	comparesHis = "\treturn found.Size >= mg.Spec.ForProvider.Size\n"
	showsHis    = "\tmg.Status.AtProvider = v1alpha1.BerthObservation{Size: 2 * found.Size}\n"
)

// TestOlderTemplate upgrades a provider of an older template: it becomes what is made today, but
// for what its author changed, and where both changed the same lines it is asked for.
func TestOlderTemplate(t *testing.T) {
	cases := map[string]struct {
		reason string
		edits  map[string]string // of the source as it was
		want   map[string]string // of the source as it is made today
		clash  bool
	}{
		"AsMade":    {"Nobody changed anything: all of it is new.", nil, nil, false},
		"Elsewhere": {"What the author wrote stays, and the rest is new.", map[string]string{compares: comparesHis}, map[string]string{compares: comparesHis}, false},
		"SameLines": {"It is told, his stays, and all else is new.",
			map[string]string{compares: comparesHis, shows: showsHis}, map[string]string{compares: comparesHis, showsNow: showsHis}, true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := old(t, tc.edits)
			diff := func(flags ...string) (code int, told string) {
				var out bytes.Buffer

				code = cli.Main(t.Context(), append([]string{"diff", "--dir", dir}, flags...), nil, &out, &out)

				return code, out.String()
			}
			apply := []string{"--apply", "--yes", "--dirty", "--no-generate"}

			if code, told := diff("--check"); code != 1 {
				t.Fatalf("it is behind by a day's work, and the exit code is %d:\n%s", code, told)
			}

			code, told := diff(apply...)
			if clashes := strings.Count(told, "\nconflict  "+source+":"); clashes != strings.Count(told, "\nconflict  ") || (clashes == 1) != tc.clash || (code == 1) != tc.clash {
				t.Errorf("%s\nexit code %d:\n%s", tc.reason, code, told)
			}

			want, got := fresh(t, dir), found(t, dir)
			want[source] = edited(t, want[source], tc.want)

			if tc.clash { // which is recorded when it is settled
				compare(t, tc.reason, without(want), without(got))

				if code, told := diff(append(apply, "--keep-mine")...); code != 0 {
					t.Errorf("the author keeps his, and the exit code is %d:\n%s", code, told)
				}

				got = found(t, dir)
			}

			compare(t, tc.reason, want, got)

			if code, told := diff("--check"); code != 0 {
				t.Errorf("all was taken in, and the exit code is %d:\n%s", code, told)
			}
		})
	}
}

// without returns files but for those that say what they were made of.
func without(files map[string]string) map[string]string {
	out := maps.Clone(files)
	delete(out, scaffold.Base)
	delete(out, scaffold.Record)

	return out
}

func compare(t *testing.T, reason string, want, got map[string]string) {
	t.Helper()

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n-want, +got:\n%s", reason, diff)
	}
}
