package docs

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

var update = flag.Bool("update", false, "write the generated regions of the pages anew")

// A region is a part of a page that is generated from files of the repository.
type region struct {
	page string
	name string
	make func(t *testing.T) string
}

// The generated regions.
var regions = []region{
	{"docs/lifecycle.md", "admission", readAdmit},
	{"docs/lifecycle.md", "decisions", func(t *testing.T) string { tables, _, _ := readDecide(t); return tables }},
	{"docs/lifecycle.md", "facts", func(t *testing.T) string { _, glossary, _ := readDecide(t); return glossary }},
	{"docs/lifecycle.md", "actions", func(t *testing.T) string { _, _, actions := readDecide(t); return actions }},
	{"docs/lifecycle.md", "conclusion", readConclude},
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

// The stages of the lifecycle of a managed resource.
var (
	admitStage    = stage{facts: "AdmitFacts", results: "Admission"}
	decideStage   = stage{facts: "Facts", results: "Action"}
	concludeStage = stage{facts: "ConcludeFacts", results: "Conclusion"}
)

// readDecide returns the tables of the cases, of the facts and of the actions of Decide.
func readDecide(t *testing.T) (tables, glossary, actions string) {
	t.Helper()
	return readStage(t, "decide.go", "facts.go", decideStage)
}

// readAdmit returns the cases of Admit, with its facts above and its results below.
func readAdmit(t *testing.T) string {
	t.Helper()
	tables, glossary, results := readStage(t, "admit.go", "admit.go", admitStage)
	return glossary + "\n" + tables + results
}

// readConclude returns the cases of Conclude, with its facts above and its results below.
func readConclude(t *testing.T) string {
	t.Helper()
	tables, glossary, results := readStage(t, "conclude.go", "conclude.go", concludeStage)
	return glossary + "\n" + tables + results
}

func readStage(t *testing.T, decide, facts string, of stage) (tables, glossary, actions string) {
	t.Helper()
	code, words := read(t, lifecycleDir+decide), read(t, lifecycleDir+facts)
	tables, glossary, actions, err := decisions([]byte(code), []byte(words), of)
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

// TestGeneratedRegions checks that every generated region is up to date.
func TestGeneratedRegions(t *testing.T) {
	for _, r := range slices.Concat(tutorialRegions(t), recipeRegions(t), regions) {
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
				t.Errorf("%s differs from the code; run: go test ./internal/docs -update\n-page, +code:\n%s", r.page, diff)
			}
		})
	}
}
