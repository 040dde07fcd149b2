package docs

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

var update = flag.Bool("update", false, "write the generated regions of the pages anew")

// A region of a page is made of files of the repository.
type region struct {
	page string
	name string
	make func(t *testing.T) string
}

// What is generated where.
var regions = []region{
	{"docs/lifecycle.md", "decisions", func(t *testing.T) string { tables, _, _ := readLifecycle(t); return tables }},
	{"docs/lifecycle.md", "facts", func(t *testing.T) string { _, glossary, _ := readLifecycle(t); return glossary }},
	{"docs/lifecycle.md", "actions", func(t *testing.T) string { _, _, actions := readLifecycle(t); return actions }},
	{"docs/migrating.md", "names", func(t *testing.T) string {
		return renderAPI(readAPI(read(t, "internal/apisurface/testdata/managed.golden")))
	}},
	{"docs/migrating.md", "seed differences", func(t *testing.T) string {
		return noError(t)(differences(read(t, upstream), "provider-runtime"))
	}},
	{"docs/migrating.md", "peer differences", func(t *testing.T) string {
		return noError(t)(differences(read(t, upstream), "crossplane-runtime", "crossplane-runtime, around the loop",
			"both: annotations and names"))
	}},
	{conformancePage, "conformance properties", func(*testing.T) string { return conformanceProperties() }},
	{guarantees, "properties", func(*testing.T) string { return properties() }},
	{guarantees, "faults", func(t *testing.T) string { return faults(read(t, "internal/sim/schedule.go")) }},
	{trackRecord, "corpus", func(t *testing.T) string {
		return noError(t)(corpus(read(t,
			"internal/sim/testdata/corpus.txt")))
	}},
}

// upstream is the list that the suites of upstream are compared with.
const upstream = "pkg/xp/testdata/upstream-differences.md"

const lifecycleDir = "pkg/reconciler/managed/internal/lifecycle/"

// readLifecycle returns the tables of the cases, of the facts and of the actions.
func readLifecycle(t *testing.T) (tables, glossary, actions string) {
	t.Helper()
	decide, facts := read(t, lifecycleDir+"decide.go"), read(t, lifecycleDir+"facts.go")
	tables, glossary, actions, err := decisions([]byte(decide), []byte(facts))
	if err != nil {
		t.Fatal(err)
	}
	return tables, glossary, actions
}

func noError(t *testing.T) func(string, error) string {
	t.Helper()
	return func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGeneratedRegions compares every generated region with what would be generated now.
func TestGeneratedRegions(t *testing.T) {
	for _, r := range append(tutorialRegions(t), regions...) {
		t.Run(strings.TrimPrefix(r.page, "docs/")+"/"+r.name, func(t *testing.T) {
			page := read(t, r.page)
			filled := noError(t)(fill(page, r.name, r.make(t)))
			diff := cmp.Diff(page, filled)
			switch {
			case diff == "":
			case *update:
				if err := os.WriteFile(filepath.Join(root, r.page), []byte(filled), 0o600); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s is not what the code says any more; run: go test ./internal/docs -update\n-page, +code:\n%s", r.page, diff)
			}
		})
	}
}
