package hygiene

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

// The file with the number of findings of a gate that a package still has. The numbers only go down, and a missing
// number is 0.
const ratchetFile = "internal/hygiene/testdata/ratchet.txt"

var (
	update = flag.Bool("update", false, "write the numbers that have gone down to "+ratchetFile)
	moved  = flag.Bool("moved", false, "with -update: code has moved, so a number may rise, but not the sum of its gate")
)

// An entry is the key of a number in the file.
type entry struct{ pkg, gate string }

// hold compares the findings of a gate with the numbers of the file, and writes them with -update.
func hold(t *testing.T, name string) {
	t.Helper()
	gate, ok := measure.ByName(name)
	if !ok {
		t.Fatalf("there is no gate %q", name)
	}
	allowed, err := parseRatchet(read(t, ratchetFile))
	if err != nil {
		t.Fatalf("%s: %v", ratchetFile, err)
	}
	findings := gate.Find(readTree(t))
	found := measure.PerPackage(findings)
	if *update {
		allowed = lowered(allowed, name, found, *moved)
		writeRatchet(t, allowed)
	}
	for _, line := range compare(allowed, gate, found) {
		t.Error(line)
	}
	for _, f := range findings {
		if allowed[entry{f.Package, name}] == 0 {
			t.Errorf("%s:%d: %s", f.File, f.Line, f.What)
		}
	}
}

func writeRatchet(t *testing.T, numbers map[entry]int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, ratchetFile), formatRatchet(numbers), 0o600); err != nil {
		t.Fatal(err)
	}
}

// compare returns a line for each package whose number in the file is wrong.
func compare(allowed map[entry]int, gate measure.Gate, found map[string]int) (out []string) {
	packages := maps.Clone(found)
	for e := range allowed {
		if e.gate == gate.Name {
			packages[e.pkg] = found[e.pkg]
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		has, may := packages[pkg], allowed[entry{pkg, gate.Name}]
		switch {
		case has > may:
			out = append(out, fmt.Sprintf("%s has %d %s, %d are allowed: %s. To list them: "+
				"go run ./internal/hygiene/shape -list %s %s", pkg, has, gate.What, may, gate.Advice, gate.Name, pkg))
		case has < may:
			out = append(out, fmt.Sprintf("%s has %d %s, %d are allowed: lower the number with: "+
				"go test ./internal/hygiene -update", pkg, has, gate.What, may))
		}
	}
	return out
}

// lowered returns the numbers, those of a gate replaced by the found ones where these are lower. With moved they may
// be higher, if the sum of the gate is not.
func lowered(allowed map[entry]int, gate string, found map[string]int, moved bool) map[entry]int {
	out, before, after := map[entry]int{}, 0, 0
	for e, n := range allowed {
		if e.gate == gate {
			before += n
		} else {
			out[e] = n
		}
	}
	for _, n := range found {
		after += n
	}
	for pkg, n := range found {
		e := entry{pkg, gate}
		if !moved || after > before {
			n = min(n, allowed[e])
		}
		if n > 0 {
			out[e] = n
		}
	}
	return out
}

// parseRatchet reads lines of package, gate and number. Of two numbers for the same the lower one counts: a merge may
// leave both.
func parseRatchet(text []byte) (map[entry]int, error) {
	out := map[entry]int{}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Fields(line)
		if len(parts) != 3 {
			return nil, fmt.Errorf("line %d: %q is not a package, a gate and a number", i+1, line)
		}
		n, err := strconv.Atoi(parts[2])
		if _, ok := measure.ByName(parts[1]); !ok || err != nil || n < 1 {
			return nil, fmt.Errorf("line %d: %q is not a package, a gate and a number above 0", i+1, line)
		}
		e := entry{parts[0], parts[1]}
		if old, twice := out[e]; twice {
			n = min(n, old)
		}
		out[e] = n
	}
	return out, nil
}

// formatRatchet writes a block per package, with an empty line between two, so that changes of two packages do not
// conflict.
func formatRatchet(numbers map[entry]int) []byte {
	var b bytes.Buffer
	b.WriteString("# Package, gate, and how many findings of the gate the package still has. The numbers only go down:\n")
	b.WriteString("# \"go test ./internal/hygiene -update\" lowers them. After a merge keep both sides, and run that.\n")
	last := ""
	for _, e := range slices.SortedFunc(maps.Keys(numbers), func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.gate, b.gate))
	}) {
		if e.pkg != last {
			b.WriteByte('\n')
		}
		last = e.pkg
		fmt.Fprintf(&b, "%s %s %d\n", e.pkg, e.gate, numbers[e])
	}
	return b.Bytes()
}

// TestRatchetIsFormatted also finds entries of unknown gates.
func TestRatchetIsFormatted(t *testing.T) {
	text := read(t, ratchetFile)
	numbers, err := parseRatchet(text)
	if err != nil {
		t.Fatalf("%s: %v", ratchetFile, err)
	}
	if *update {
		writeRatchet(t, numbers)
		return
	}
	if diff := gocmp.Diff(string(formatRatchet(numbers)), string(text)); diff != "" {
		t.Errorf("%s is not as \"go test ./internal/hygiene -update\" writes it, -want +got:\n%s", ratchetFile, diff)
	}
}

func TestCompare(t *testing.T) {
	gate, _ := measure.ByName("structs")
	allowed := map[entry]int{
		{"pkg/a", "structs"}: 2, {"pkg/b", "structs"}: 2, {"pkg/c", "structs"}: 1, {"pkg/d", "structs"}: 3,
		{"pkg/e", "prose"}: 1,
	}
	found := map[string]int{"pkg/a": 2, "pkg/b": 3, "pkg/d": 1, "pkg/f": 1}
	want := []string{
		"pkg/b has 3 structs over 20 fields, 2 are allowed: " +
			"group the fields that change together into types of their own. " +
			"To list them: go run ./internal/hygiene/shape -list structs pkg/b",
		"pkg/c has 0 structs over 20 fields, 1 are allowed: lower the number with: go test ./internal/hygiene -update",
		"pkg/d has 1 structs over 20 fields, 3 are allowed: lower the number with: go test ./internal/hygiene -update",
		"pkg/f has 1 structs over 20 fields, 0 are allowed: " +
			"group the fields that change together into types of their own. " +
			"To list them: go run ./internal/hygiene/shape -list structs pkg/f",
	}
	if diff := gocmp.Diff(want, compare(allowed, gate, found)); diff != "" {
		t.Errorf("compare(...): -want, +got:\n%s", diff)
	}
}

func TestLowered(t *testing.T) {
	a, b, c := entry{"pkg/a", "structs"}, entry{"pkg/b", "structs"}, entry{"pkg/c", "structs"}
	other := entry{"pkg/a", "prose"}
	allowed := map[entry]int{a: 2, b: 2, other: 7}
	cases := map[string]struct {
		reason string
		found  map[string]int
		moved  bool
		want   map[entry]int
	}{
		"Lower": {
			"Numbers go down, and one that is 0 has no line.",
			map[string]int{"pkg/a": 1}, false, map[entry]int{a: 1, other: 7},
		},
		"Higher": {
			"A number does not rise, whatever another one does.",
			map[string]int{"pkg/a": 3, "pkg/b": 1}, false, map[entry]int{a: 2, b: 1, other: 7},
		},
		"New": {
			"A package without a line has 0.",
			map[string]int{"pkg/a": 2, "pkg/c": 1}, false, map[entry]int{a: 2, other: 7},
		},
		"Moved": {
			"Code takes its number to another package.",
			map[string]int{"pkg/a": 2, "pkg/c": 2}, true, map[entry]int{a: 2, c: 2, other: 7},
		},
		"MovedAndMore": {
			"But the sum does not rise.",
			map[string]int{"pkg/a": 2, "pkg/c": 3}, true, map[entry]int{a: 2, other: 7},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lowered(allowed, "structs", tc.found, tc.moved)
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nlowered(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseRatchet(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   map[entry]int
		bad    bool
	}{
		"Twice": {
			"A merge may keep both numbers: the lower one counts.",
			"pkg/a prose 5\npkg/a prose 3\n", map[entry]int{{"pkg/a", "prose"}: 3}, false,
		},
		"Comment": {
			"Comments and empty lines say nothing.",
			"# x\n\npkg/a prose 5\n", map[entry]int{{"pkg/a", "prose"}: 5}, false,
		},
		"Zero":  {"A package at 0 has no line.", "pkg/a prose 0\n", nil, true},
		"Gate":  {"A gate that does not exist is a mistake.", "pkg/a poetry 1\n", nil, true},
		"Merge": {"Marks of a merge are not taken for numbers.", "<<<<<<< HEAD\n", nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseRatchet([]byte(tc.text))
			if tc.bad != (err != nil) {
				t.Fatalf("%s\nparseRatchet(...): unexpected error %v", tc.reason, err)
			}
			if diff := gocmp.Diff(tc.want, got); !tc.bad && diff != "" {
				t.Errorf("%s\nparseRatchet(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
