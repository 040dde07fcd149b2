package measure

import (
	"path"
	"slices"
	"strings"
)

// testStems are first words of the names of test files that need no production file, because the word says what the
// file is for.
var testStems = []string{"bench", "example", "export", "fuzz", "main", "regression", "seed", "systems", "world"}

// stems finds the test files of pkg and of the simulator without a production file. x_test.go and x_part_test.go are
// tests of x.go.
func stems(t *Tree) (out []Finding) {
	production := map[string]bool{}
	for _, f := range t.Go {
		production[strings.TrimSuffix(f.Name, ".go")] = !f.Test()
	}
	for _, f := range t.Go {
		stem, test := strings.CutSuffix(f.Name, "_test.go")
		if !test || !f.In("pkg", "internal/sim") || f.Generated() {
			continue
		}
		first, _, _ := strings.Cut(path.Base(stem), "_")
		if !slices.Contains(testStems, first) && !hasStem(production, stem) {
			out = append(out, f.finding(1, "no production file has the stem %s", path.Base(stem)))
		}
	}
	return out
}

// hasStem returns whether a production file with this name exists, or with this name without its last words.
func hasStem(production map[string]bool, name string) bool {
	for {
		if production[name] {
			return true
		}
		i := strings.LastIndexByte(name, '_')
		if i <= strings.LastIndexByte(name, '/') {
			return false
		}
		name = name[:i]
	}
}
