package scaffold_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/merge"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// gitignore is a file that is easy to recognize.
const gitignore = ".gitignore"

// base returns the base of a new project, in which one file is as an older template made
// it: nil if it made none.
func base(t *testing.T, path string, was *string) []byte {
	t.Helper()

	archive := txtar.Parse(content(t, cloud(), scaffold.Base))
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == path })

	if was != nil {
		archive.Files = append(archive.Files, txtar.File{Name: path, Data: []byte(*was)})
	}

	return txtar.Format(archive)
}

// TestUpgrade upgrades projects in which one file was made in one way, changed by its
// author in another, and is made in a third now.
func TestUpgrade(t *testing.T) {
	now := string(content(t, cloud(), gitignore))
	first, rest, _ := strings.Cut(now, "\n")
	old, mine := "# Old words.\n"+rest, first+"\n"+rest+"/mine/\n"
	both, clash := "# Old words.\n"+rest+"/mine/\n", "# My words.\n"+rest
	none, gone := (*string)(nil), "gone.txt"
	all := files(t)

	cases := map[string]struct {
		reason    string
		path      string
		own       []string
		was, mine *string
		states    []merge.State // of what is open
		taken     *string       // the file when all that fits was taken
	}{
		"Same": {"Nobody changed anything.", gitignore, nil, &now, &now, nil, &now},
		"Mine": {"What the author changed is his.", gitignore, nil, &now, &mine, nil, &mine},
		"Newer": {"The template changed, and nobody else.", gitignore, nil, &old, &old, []merge.State{merge.Theirs},
			&now},
		"Elsewhere": {"The author changed something else.", gitignore, nil, &old, &both, []merge.State{merge.Theirs},
			&mine},
		"Clash": {"The author changed the same line: his stays.", gitignore, nil, &old, &clash,
			[]merge.State{merge.Clash}, &clash},
		"Done": {"He did already what the template does.", gitignore, nil, &old, &now, nil, &now},
		"New":  {"There is a new file.", gitignore, nil, none, none, []merge.State{merge.Theirs}, &now},
		"InTheWay": {"The author has one of that name.", gitignore, nil, none, &clash, []merge.State{merge.Clash},
			&clash},
		"ThereAlready":   {"The author has just that.", gitignore, nil, none, &now, nil, &now},
		"Removed":        {"He took it away.", gitignore, nil, &old, none, nil, none},
		"NotMade":        {"The template has it no more.", gone, nil, &old, &old, []merge.State{merge.Theirs}, none},
		"NotMadeChanged": {"And the author changed it.", gone, nil, &old, &both, []merge.State{merge.Clash}, &both},
		"NotMadeRemoved": {"And the author took it away.", gone, nil, &old, none, nil, none},
		"Own":            {"It is the author's alone.", gitignore, []string{".git*"}, &old, &clash, nil, &clash},
		"OwnFolder": {"All of the folder is.", "deploy/base/service.yaml", []string{"deploy/"}, &old, &clash, nil,
			&clash},
		"OwnNew": {"It is not made either.", gitignore, []string{gitignore}, none, none, nil, none},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, packed := cloud(), base(t, tc.path, tc.was)
			p.Own = tc.own
			found := maps.Clone(all)
			if delete(found, tc.path); tc.mine != nil {
				found[tc.path] = *tc.mine
			}

			changes, err := scaffold.Upgrade(p, packed, in(found))
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.states, open(changes)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			answer(changes, scaffold.Take, scaffold.Leave)

			if diff := cmp.Diff(tc.taken, result(changes, tc.path, tc.mine)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			settles(t, p, packed, changes, found)
		})
	}
}

// files returns the files of a new project.
func files(t *testing.T) map[string]string {
	t.Helper()

	out := map[string]string{}
	for _, f := range plan(t, nil, cloud()) {
		out[f.Path] = string(f.Content)
	}

	return out
}

// in returns what finds files among these.
func in(files map[string]string) func(string) (scaffold.Version, error) {
	return func(path string) (scaffold.Version, error) {
		text, ok := files[path]

		return scaffold.Version{Exists: ok, Text: text}, nil
	}
}

// open returns the states of the regions that wait for an answer.
func open(changes []scaffold.Change) []merge.State {
	var out []merge.State

	for _, c := range changes {
		for _, r := range c.Regions {
			if r.Open() {
				out = append(out, r.State)
			}
		}
	}

	return out
}

// answer answers what fits, and what does not.
func answer(changes []scaffold.Change, fits, clashes scaffold.Answer) {
	for _, c := range changes {
		for i := range c.Regions {
			if r := &c.Regions[i]; r.State == merge.Theirs {
				r.Answer = fits
			} else if r.State == merge.Clash {
				r.Answer = clashes
			}
		}
	}
}

// result returns what a file is after the changes.
func result(changes []scaffold.Change, path string, was *string) *string {
	for _, c := range changes {
		if file, _ := c.Result(); c.Path == path && file.Exists {
			return &file.Text
		} else if c.Path == path {
			return nil
		}
	}

	return was
}

// settles fails unless what is settled is asked once more as long as something is open, and
// never again when nothing is.
func settles(t *testing.T, p scaffold.Project, base []byte, changes []scaffold.Change, found map[string]string) {
	t.Helper()

	for _, clashes := range []scaffold.Answer{scaffold.Leave, scaffold.Keep} {
		answer(changes, scaffold.Take, clashes)
		left := open(changes)

		settled, done, err := scaffold.Settle(p, base, changes)
		if err != nil {
			t.Fatal(err)
		}

		after := maps.Clone(found)

		for _, c := range changes {
			if delete(after, c.Path); c.Mine.Exists || c.Now.Exists {
				if file, _ := c.Result(); file.Exists {
					after[c.Path] = file.Text
				}
			}
		}

		again, err := scaffold.Upgrade(p, settled, in(after))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(left, open(again)); diff != "" || done != (left == nil) {
			t.Errorf("done: %t; -left, +asked again:\n%s", done, diff)
		}

		if current, err := scaffold.Current(p, settled); err != nil || current != done {
			t.Errorf("done is %t, and current %t (%v)", done, current, err)
		}
	}
}

// TestUpgradeLeavesHalf answers one of two hunks of a file, and is asked the other again.
func TestUpgradeLeavesHalf(t *testing.T) {
	now := string(content(t, cloud(), "Makefile"))
	old := strings.Replace(strings.Replace(now, "## List the targets", "## Tell", 1), "## Run the fake of the API",
		"## Serve", 1)
	packed := base(t, "Makefile", &old)
	mine := files(t)
	mine["Makefile"] = old

	for _, want := range []int{2, 1, 0} {
		changes, err := scaffold.Upgrade(cloud(), packed, in(mine))
		if err != nil {
			t.Fatal(err)
		}

		if got := len(open(changes)); got != want {
			t.Fatalf("%d hunks are open, want %d", got, want)
		}

		if want == 0 {
			break
		}

		c := &changes[slices.IndexFunc(changes, scaffold.Change.Open)]
		c.Regions[slices.IndexFunc(c.Regions, scaffold.Region.Open)].Answer = scaffold.Take

		if packed, _, err = scaffold.Settle(cloud(), packed, changes); err != nil {
			t.Fatal(err)
		}

		file, _ := c.Result()
		mine["Makefile"] = file.Text
	}

	if mine["Makefile"] != now {
		t.Errorf("-want, +got:\n%s", cmp.Diff(now, mine["Makefile"]))
	}
}

// TestSumsAreAdded keeps the sums of modules that the author requires, and adds those that
// the template does.
func TestSumsAreAdded(t *testing.T) {
	mine := files(t)
	first, rest, _ := strings.Cut(mine["go.sum"], "\n")
	mine["go.sum"] = "aaa.example.org/mine v1.0.0 h1:x=\n" + rest
	want := mine["go.sum"] + first + "\n"

	changes, err := scaffold.Upgrade(cloud(), []byte(mine[scaffold.Base]), in(mine))
	if err != nil {
		t.Fatal(err)
	}

	answer(changes, scaffold.Take, scaffold.Leave)

	got := result(changes, "go.sum", nil)
	if got == nil || *got != want {
		t.Errorf("-want, +got:\n%s", cmp.Diff(&want, got))
	}
}

// TestBaseHoldsAll compares the base of a project with its files.
func TestBaseHoldsAll(t *testing.T) {
	p := with(t, cloud(), kinds(true)...)
	want := map[string]string{}

	for _, f := range plan(t, nil, p) {
		if f.Path != scaffold.Record && f.Path != scaffold.Base && !strings.HasSuffix(f.Path, "go.sum") {
			want[f.Path] = string(f.Content)
		}
	}

	got := scaffold.Unpack(content(t, p, scaffold.Base))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Fatal(diff)
	}

	for path := range want {
		if diff := cmp.Diff(want[path], got[path]); diff != "" {
			t.Errorf("%s: -made, +base:\n%s", path, diff)
		}
	}
}
