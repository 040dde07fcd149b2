package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestDiagnose checks the report for machines with and without the tools.
func TestDiagnose(t *testing.T) {
	compiler := tool{name: "go", version: []string{"env"}, least: [2]int{1, 26}, needed: true, use: "compiles",
		get: "go.dev"}
	extra := tool{name: "gcc", use: "races", get: "apt"}

	cases := map[string]struct {
		reason  string
		found   []finding
		want    []string
		missing bool
	}{
		"Well": {"All is there.", []finding{{compiler, true, "go1.26.8"}, {extra, true, ""}}, []string{"ok", "go", "gcc"},
			false},
		"Newer": {"Newer is fine.", []finding{{compiler, true, "go2.0"}}, []string{"ok"}, false},
		"Devel": {"A build of one's own is taken at its word.", []finding{{compiler, true, "devel go1.27-abc"}},
			[]string{"ok"}, false},
		"Old": {"Too old is as good as missing.", []finding{{compiler, true, "go1.25.3"}},
			[]string{"NEEDED", "too old: 1.25, and 1.26 is needed", "go.dev"}, true},
		"Mute": {"A tool that does not print its version counts as missing.",
			[]finding{{compiler, true, "segmentation fault"}},
			[]string{"NEEDED", "segmentation fault"}, true},
		"Missing": {"Nothing goes without it.", []finding{{compiler, false, ""}}, []string{"NEEDED", "missing", "go.dev"},
			true},
		"Without": {"One can do without.", []finding{{compiler, true, "go1.26"}, {extra, false, ""}},
			[]string{"without", "gcc", "races", "apt"}, false},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer

			if err := diagnose(&invocation{out: &out}, tc.found); errors.Is(err, errMissing) != tc.missing {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}

			for _, w := range tc.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("%s\nwant %q in:\n%s", tc.reason, w, &out)
				}
			}
		})
	}
}
