package docs

import (
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

// Decide what to do. The first case wins.
func Decide(f Facts) Action {
	switch {
	case f.Asleep:
		return Wait
	case (f.Hungry || !f.Fed) && f.May.Feed:
		return Feed
	default:
		return play(f)
	}
}

// Play with the cat.
func play(f Facts) Action {
	switch {
	case f.Mood == Cross || f.Mood != Calm && f.Hungry:
		return Wait
	case f.Fed || f.Hungry && !f.May.Feed:
		return Wait
	default:
		return Feed
	}
}
`
	wantTables := strings.Join([]string{
		"### `Decide`", "", "Decide what to do. The first case wins.", "",
		"| # | If | Then | What that means |",
		"|---|---|---|---|",
		"| 1 | Asleep | **Wait** | If the cat sleeps: do nothing. |",
		"| 2 | (Hungry, or not Fed) and May.Feed | **Feed** | If (the cat is hungry, or it is not so that the cat was fed) and the owners allow to feed: open a tin. |",
		"| 3 | otherwise | see `play` |  |", "",
		"### `play`", "", "Play with the cat.", "",
		"| # | If | Then | What that means |",
		"|---|---|---|---|",
		"| 1 | Mood is Cross, or Mood is not Calm and Hungry | **Wait** | If the cat hisses, or it is not so that the cat purrs and the cat is hungry: do nothing. |",
		"| 2 | Fed, or Hungry and not May.Feed | **Wait** | If the cat was fed, or the cat is hungry and the owners do not allow to feed: do nothing. |",
		"| 3 | otherwise | **Feed** | Open a tin. |", "", "",
	}, "\n")
	wantFacts := "| Fact | What it says |\n|---|---|\n| Asleep | The cat sleeps. |\n| Hungry | The cat is hungry: it will say so. |\n" +
		"| May | What the owners allow. |\n| Fed | The cat was fed, so that it is content. |\n" +
		"| Mood | How it feels. |\n"
	tables, glossary, goOn, err := decisions([]byte(decide), []byte(someFacts))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantTables, tables); diff != "" {
		t.Errorf("tables: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(wantFacts, glossary); diff != "" {
		t.Errorf("facts: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff("All end.", goOn); diff != "" {
		t.Errorf("actions: -want, +got:\n%s", diff)
	}
}

// TestUnreadableDecisions sees to it that what the generator does not understand is no page.
func TestUnreadableDecisions(t *testing.T) {
	cases := map[string]string{
		"NoSwitch":      "func Decide(f Facts) Action { return Wait }",
		"MoreThanOne":   "func Decide(f Facts) Action { switch { default: return Wait }; return Feed }",
		"TwoStatements": "func Decide(f Facts) Action { switch { case f.Fed: f.Fed = false; return Wait } }",
		"Computed":      "func Decide(f Facts) Action { switch { case f.Fed: return Wait + 1 } }",
		"UnknownFact":   "func Decide(f Facts) Action { switch { case f.Bored: return Wait } }",
		"UnknownAction": "func Decide(f Facts) Action { switch { case f.Fed: return Purr } }",
		"Call":          "func Decide(f Facts) Action { switch { case isFed(f): return Wait } }",
	}
	for name, decide := range cases {
		t.Run(name, func(t *testing.T) {
			if tables, _, _, err := decisions([]byte("package p\n\n"+decide+"\n"), []byte(someFacts)); err == nil {
				t.Errorf("%s\nwas read as\n%s", decide, tables)
			}
		})
	}
}
