package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write into testdata what the kit prints: look at it before you commit it")

// unsettled are parts of the output that change with each run, or with edits of the kit, and their replacements.
var unsettled = []struct {
	text *regexp.Regexp
	then string
}{
	{regexp.MustCompile(`(?m)^=== RUN .*\n`), ""},
	{regexp.MustCompile(`(?m)^( +)\w+\.go:\d+: `), "$1"},
	{regexp.MustCompile(` \(\d+\.\d+s\)`), ""},
	{regexp.MustCompile(`(schedules|boundaries|left out): \d+`), "$1: N"},
	{regexp.MustCompile(` took \d\S*s\n`), " took T\n"},
}

// TestPrinted compares the output for authors with files of testdata: the names of the subtests,
// the sentence of a property that does not hold, and how to replay it. Tools of authors may
// parse it, too.
func TestPrinted(t *testing.T) {
	for name, reason := range map[string]string{
		"incomplete": "A suite that lacks what is needed is told all of it at once.",
		"misled":     "A client that breaks a property when it is called as it is has no schedule to replay.",
		"unseen":     "One that breaks a property in the hands of the reconciler has.",
	} {
		t.Run(name, func(t *testing.T) {
			got, golden := inside(t, name), filepath.Join("testdata", name+".golden")
			for _, u := range unsettled {
				got = u.text.ReplaceAllString(got, u.then)
			}
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s\nIt prints something else; if that is right: go test ./pkg/conformance -run TestPrinted "+
					"-update\n-%s, +printed:\n%s", reason, golden, diff)
			}
		})
	}
}
