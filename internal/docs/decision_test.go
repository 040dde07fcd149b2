package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const someFacts = `package p

// Facts are facts.
type Facts struct {
	Asleep bool // The cat sleeps. It does so a lot.
	Hungry bool // The cat is hungry: it will say so.
	May    Permissions

	// Fed: the cat was fed, so that it is content.
	Fed bool

	Mood Mood // How it feels.
}

// The moods.
const (
	Calm  Mood = iota // The cat purrs.
	Cross             // The cat hisses.
)

// Permissions are what the owners allow.
type Permissions struct {
	Feed bool
}

// The actions. All end.
const (
	none Action = iota
	Wait // Do nothing.
	Feed // Open a tin.
)
`

func TestDecisions(t *testing.T) {
	decide := `package p

// Decide returns what to do. The first case wins.
func Decide(f Facts) Action {
	switch {
	// A cat that sleeps is left alone.
	case f.Asleep:
		return Wait // This comment is not the one of the next case.
	// The cat needs food, and the owners allow
	// it.
	case (f.Hungry || !f.Fed) && f.May.Feed:
		return Feed
	// The cat is awake.
	default:
		return play(f)
	}
}

// play decides if the cat is awake.
func play(f Facts) Action {
	switch {
	// The cat is not calm.
	case f.Mood == Cross || f.Mood != Calm && f.Hungry:
		return Wait
	// The cat needs no food.
	case f.Fed || f.Hungry && !f.May.Feed:
		return Wait
	// Nothing else helps.
	default:
		return Feed
	}
}
`
	wantTables := strings.Join([]string{
		"#### `Decide`", "", "Returns what to do. The first case wins.", "",
		"| # | If | Then | Why |",
		"|---|---|---|---|",
		"| 1 | Asleep | **Wait** | A cat that sleeps is left alone. |",
		"| 2 | (Hungry, or not Fed) and May.Feed | **Feed** | The cat needs food, and the owners allow it. |",
		"| 3 | otherwise | see `play` | The cat is awake. |", "",
		"#### `play`", "", "Decides if the cat is awake.", "",
		"| # | If | Then | Why |",
		"|---|---|---|---|",
		"| 1 | Mood is Cross, or Mood is not Calm and Hungry | **Wait** | The cat is not calm. |",
		"| 2 | Fed, or Hungry and not May.Feed | **Wait** | The cat needs no food. |",
		"| 3 | otherwise | **Feed** | Nothing else helps. |", "", "",
	}, "\n")
	wantFacts := "| Fact | What it says |\n|---|---|\n| Asleep | The cat sleeps. |\n" +
		"| Hungry | The cat is hungry: it will say so. |\n" +
		"| May | What the owners allow. |\n| Fed | The cat was fed, so that it is content. |\n" +
		"| Mood | How it feels. |\n"
	wantActions := "| Action | What is done |\n|---|---|\n| Wait | Do nothing. |\n| Feed | Open a tin. |\n\nAll " +
		"end.\n"
	tables, glossary, actions, err := decisions([]byte(decide), []byte(someFacts), decideStage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantTables, tables); diff != "" {
		t.Errorf("tables: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(wantFacts, glossary); diff != "" {
		t.Errorf("facts: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(wantActions, actions); diff != "" {
		t.Errorf("actions: -want, +got:\n%s", diff)
	}
}

// TestUnreadableDecisions checks that a decision that the generator does not understand is an error, as is a case
// without a sentence.
func TestUnreadableDecisions(t *testing.T) {
	one := func(text string) string { return "func Decide(f Facts) Action {\n\tswitch {\n" + text + "\n\t}\n}" }
	readable := one("// Yes.\ncase f.Fed: return Wait")
	if _, _, _, err := decisions([]byte("package p\n\n"+readable+"\n"), []byte(someFacts), decideStage); err != nil {
		t.Fatalf("%s\n%v", readable, err)
	}
	cases := map[string]string{
		"NoSwitch":      "func Decide(f Facts) Action { return Wait }",
		"MoreThanOne":   "func Decide(f Facts) Action { switch {\n// Yes.\ndefault: return Wait }; return Feed }",
		"TwoStatements": one("// Yes.\ncase f.Fed: f.Fed = false; return Wait"),
		"Computed":      one("// Yes.\ncase f.Fed: return Wait + 1"),
		"UnknownFact":   one("// Yes.\ncase f.Bored: return Wait"),
		"UnknownState":  one("// Yes.\ncase f.Mood == Bored: return Wait"),
		"UnknownAction": one("// Yes.\ncase f.Fed: return Purr"),
		"Call":          one("// Yes.\ncase isFed(f): return Wait"),
		"NoSentence":    one("case f.Fed: return Wait"),
		"CommentBeside": one("case f.Fed: return Wait // Yes.\n// No.\ndefault: return Feed"),
		"NoFullStop":    one("// Yes\ncase f.Fed: return Wait"),
		"TwoSentences":  one("// Yes. Really.\ncase f.Fed: return Wait"),
		"TooLong":       one("// " + strings.Repeat("y", maxSentence) + ".\ncase f.Fed: return Wait"),
	}
	for name, decide := range cases {
		t.Run(name, func(t *testing.T) {
			if tables, _, _, err := decisions([]byte("package p\n\n"+decide+"\n"), []byte(someFacts), decideStage); err == nil {
				t.Errorf("%s\nwas read as\n%s", decide, tables)
			}
		})
	}
}

// TestCasesHaveSentences checks that every case of every decision has a sentence above it. Those of managed resources
// are also shown on a page.
func TestCasesHaveSentences(t *testing.T) {
	const serviceProviders, syncers = "pkg/serviceprovider/internal/lifecycle/", "pkg/syncer/internal/lifecycle/"
	for _, name := range []string{
		lifecycleDir + "admit.go", lifecycleDir + "decide.go", lifecycleDir + "conclude.go",
		serviceProviders + "decide.go", syncers + "decide.go",
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, read(t, name), parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		cases := 0
		ast.Inspect(file, func(n ast.Node) bool {
			body, ok := n.(*ast.SwitchStmt)
			if !ok {
				return true
			}
			last := body.Body.Lbrace
			for _, stmt := range body.Body.List {
				if _, err := caseSentence(fset, file, last, stmt.Pos()); err != nil {
					t.Errorf("%s: %v", fset.Position(stmt.Pos()), err)
				}
				cases, last = cases+1, stmt.End()
			}
			return true
		})
		if cases == 0 {
			t.Errorf("%s has no case", name)
		}
	}
}
