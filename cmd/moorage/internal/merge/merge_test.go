package merge_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/merge"
)

// TestCompare compares texts of one letter per line. A region is written as its state and its three versions.
func TestCompare(t *testing.T) {
	cases := map[string]struct {
		reason             string
		base, mine, theirs string
		want               string
	}{
		"Nothing": {"There is nothing.", "", "", "", ""},
		"Same":    {"Nobody changed anything.", "abc", "abc", "abc", "same abc"},
		"Mine":    {"What the owner changed stays.", "abc", "aXc", "abc", "same a, mine b/X/b, same c"},
		"Theirs":  {"What only the template changed fits.", "abc", "abc", "aYc", "same a, theirs b/b/Y, same c"},
		"Both":    {"What is there already is not done twice.", "abc", "aYc", "aYc", "same a, both b/Y/Y, same c"},
		"Clash":   {"Two opinions of one line.", "abc", "aXc", "aYc", "same a, clash b/X/Y, same c"},
		"Apart": {"Changes with a line between them are two.", "abcde", "aXcde", "abcYe",
			"same a, mine b/X/b, same c, theirs d/d/Y, same e"},
		"Touching": {"Changes side by side are one, because each may need the other.", "abcd", "aXcd", "abYd",
			"same a, clash bc/Xc/bY, same d"},
		"Overlapping": {"One changes what the other takes away.", "abcde", "aXYde", "abe",
			"same a, clash bcd/XYd/b, same e"},
		"InsertTheirs":  {"A new line of the template.", "ab", "ab", "aYb", "same a, theirs //Y, same b"},
		"InsertMine":    {"A line of the owner's.", "ab", "aXb", "ab", "same a, mine /X/, same b"},
		"InsertClash":   {"Two new lines at one place.", "ab", "aXb", "aYb", "same a, clash /X/Y, same b"},
		"DeleteTheirs":  {"The template lost a line.", "abc", "abc", "ac", "same a, theirs b/b/, same c"},
		"DeleteBoth":    {"Both lost it.", "abc", "ac", "ac", "same a, both b//, same c"},
		"DeleteChanged": {"The owner changed what the template lost.", "abc", "aXc", "ac", "same a, clash b/X/, same c"},
		"Begin":         {"At the beginning.", "ab", "ab", "Yab", "theirs //Y, same ab"},
		"End":           {"At the end.", "ab", "abX", "ab", "same ab, mine /X/"},
		"New":           {"Two files that have nothing in common.", "", "X", "Y", "clash /X/Y"},
		"Shifted": {"What stands elsewhere by now is found.", "abcdef", "XYabcdef", "abcdZ",
			"mine /XY/, same abcd, theirs ef/ef/Z"},
		"OneAcrossTwo": {"A long change of the owner's meets two of the template.", "abcdefg", "aXXXXXg", "aYcdeZg",
			"same a, clash bcdef/XXXXX/YcdeZ, same g"},
		"TwoOfEachApart": {"Each is judged by itself.", "abcdefghi", "aXcdefgPi", "abcYefgQi",
			"same a, mine b/X/b, same c, theirs d/d/Y, same efg, clash h/P/Q, same i"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := written(merge.Compare(column(tc.base), column(tc.mine), column(tc.theirs)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCompareRandom compares random texts: the regions make up the texts again, and regions without a conflict give
// the same result with the sides swapped.
func TestCompareRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))

	text := func(of string) string {
		var out strings.Builder

		for _, r := range of {
			switch random.IntN(5) {
			case 0: // it is dropped
			case 1:
				out.WriteString(string(r) + "\n" + string(rune('p'+random.IntN(3))) + "\n")
			default:
				out.WriteString(string(r) + "\n")
			}
		}

		return out.String()
	}

	for range 10_000 {
		base := "abcabcabcabc"[:random.IntN(12)]
		mine, theirs := text(base), text(base)

		var all [3]string

		there, back := merge.Compare(column(base), mine, theirs), merge.Compare(column(base), theirs, mine)
		for i, r := range there {
			all[0] += merge.Text(r.Base)
			all[1] += merge.Text(r.Mine)
			all[2] += merge.Text(r.Theirs)

			if i > 0 && r.State == merge.Same && there[i-1].State == merge.Same {
				t.Fatalf("two regions that are one: %s", written(there))
			}
		}

		if want := [3]string{column(base), mine, theirs}; all != want {
			t.Fatalf("want %q, got %q", want, all)
		}

		if len(there) != len(back) ||
			!slices.EqualFunc(there, back, func(a, b merge.Region) bool { return slices.Equal(a.Mine, b.Theirs) }) {
			t.Fatalf("it matters who is asked first:\n%s\n%s", written(there), written(back))
		}
	}
}

// TestLastLine checks that a missing line end at the end of a text is kept.
func TestLastLine(t *testing.T) {
	r := merge.Compare("a\nb", "a\nb", "a\nb\n")
	if got := merge.Text(r[len(r)-1].Theirs); len(r) != 2 || got != "b\n" {
		t.Errorf("%v", r)
	}
}

func column(text string) string {
	var out strings.Builder
	for _, r := range text {
		out.WriteString(string(r) + "\n")
	}

	return out.String()
}

func written(regions []merge.Region) string {
	row := func(lines []string) string { return strings.ReplaceAll(merge.Text(lines), "\n", "") }

	var out []string

	for _, r := range regions {
		state := map[merge.State]string{merge.Same: "same", merge.Mine: "mine", merge.Both: "both", merge.Theirs: "theirs",
			merge.Clash: "clash"}[r.State]
		if r.State == merge.Same {
			out = append(out, state+" "+row(r.Base))
		} else {
			out = append(out, state+" "+row(r.Base)+"/"+row(r.Mine)+"/"+row(r.Theirs))
		}
	}

	return strings.Join(out, ", ")
}

// TestClean merges changes of different lines, and refuses those of the same lines.
func TestClean(t *testing.T) {
	cases := map[string]struct {
		reason, mine, theirs, want string
		ok                         bool
	}{
		"Apart":  {"Each side changed a line.", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", true},
		"Mine":   {"One side changed nothing.", "A\nb\nc\n", "a\nb\nc\n", "A\nb\nc\n", true},
		"Equal":  {"Both sides made the same change.", "a\nc\n", "a\nc\n", "a\nc\n", true},
		"Clash":  {"Both sides changed a line.", "1\nb\nc\n", "2\nb\nc\n", "", false},
		"Delete": {"One side deleted what the other changed.", "b\nc\n", "2\nb\nc\n", "", false},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := merge.Clean("a\nb\nc\n", tc.mine, tc.theirs)
			if got != tc.want || ok != tc.ok {
				t.Errorf("%s\nwant %q, %t, got %q, %t", tc.reason, tc.want, tc.ok, got, ok)
			}
		})
	}
}
