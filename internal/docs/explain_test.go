package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// explainFile has the explanations of the decisions about managed resources.
const explainFile = "pkg/reconciler/managed/internal/explain/zz_generated.explain.go"

// explainedStages returns the stages of the lifecycle of a managed resource.
func explainedStages(t *testing.T) []stageSource {
	t.Helper()
	admit, decide := read(t, lifecycleDir+"admit.go"), read(t, lifecycleDir+"decide.go")
	conclude := read(t, lifecycleDir+"conclude.go")
	return []stageSource{
		{admit, admit, admitStage},
		{decide, read(t, lifecycleDir+"facts.go"), decideStage},
		{conclude, conclude, concludeStage},
	}
}

// TestExplanationsAreGenerated checks that the explanations are those of the decisions.
func TestExplanationsAreGenerated(t *testing.T) {
	want := noError(t)(explanations(explainedStages(t)...))
	path := filepath.Join(root, explainFile)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, explainFile), want); diff != "" {
		t.Errorf("%s differs from the decisions; run: go test ./internal/docs -update\n-file, +decisions:\n%s",
			explainFile, diff)
	}
}

// TestEachChangeOfADecisionChangesItsExplanation deletes each line of a case, and exchanges each two cases. The
// generated file must become another one, so that TestExplanationsAreGenerated fails.
func TestEachChangeOfADecisionChangesItsExplanation(t *testing.T) {
	stages := explainedStages(t)
	generated := noError(t)(explanations(stages...))
	mutants := 0
	for i, s := range stages {
		for _, mutant := range withoutACase(s.decide) {
			changed := append([]stageSource{}, stages...)
			changed[i].decide = mutant
			if s.decide == s.facts {
				changed[i].facts = mutant
			}
			mutants++
			if text, err := explanations(changed...); err == nil && text == generated {
				t.Errorf("%s is explained as before after this change:\n%s", s.of.results, cmp.Diff(s.decide, mutant))
			}
		}
	}
	if mutants < 60 {
		t.Errorf("%d changes were tried: does withoutACase still find the cases?", mutants)
	}
}

// withoutACase returns the source with each case deleted, and with each two neighboring cases exchanged.
func withoutACase(source string) (out []string) {
	const head = "\n\tcase "
	for at := strings.Index(source, head); at >= 0; {
		from := strings.LastIndex(source[:at], "\n\t\treturn ") // of the case before
		from = max(from, strings.LastIndex(source[:at], "\n\tswitch {"))
		from += 1 + strings.Index(source[from+1:], "\n")
		to := caseEnd(source, at)
		out = append(out, source[:from]+source[to:])
		if next := caseEnd(source, to); strings.Contains(source[to:next], head) {
			out = append(out, source[:from]+source[to:next]+source[from:to]+source[next:])
		}
		following := strings.Index(source[at+1:], head)
		if following < 0 {
			break
		}
		at += 1 + following
	}
	return out
}

// caseEnd returns the end of the line with the first return after an offset.
func caseEnd(source string, from int) int {
	ret := strings.Index(source[from:], "\n\t\treturn ")
	if ret < 0 {
		return len(source)
	}
	return from + ret + 1 + strings.Index(source[from+ret+1:], "\n")
}

func TestExplanations(t *testing.T) {
	decide := `package p

// Decide returns what to do. The first case wins.
func Decide(f Facts) Action {
	switch {
	// A cat that sleeps is left alone.
	case (f.Asleep || !f.Fed) && f.Mood != Cross:
		return Wait
	// The cat plays.
	case f.content() && play(f) == Feed && (f.Asleep && f.Hungry || !f.Hungry):
		return Feed
	// The cat is awake.
	default:
		return play(f)
	}
}

// play decides if the cat is awake.
func play(f Facts) Action {
	switch {
	// Nothing else helps.
	default:
		return Feed
	}
}
`
	facts := someFacts + "\n// content says whether the cat is content.\n" +
		"func (f Facts) content() bool { return f.Fed && f.Mood == Calm }\n"
	want := explainHeader + `
// Decide explains the decision lifecycle.Decide.
func Decide(f lifecycle.Facts) Explanation[lifecycle.Action] {
	switch {
	case (f.Asleep || !f.Fed) && f.Mood != lifecycle.Cross:
		return because(lifecycle.Wait, Reason{
			Result: "Wait", Decision: "Decide", Case: 1,
			Says: "A cat that sleeps is left alone.",
		},
			part{f.Asleep, "Asleep"},
			part{!f.Fed, "not Fed"},
			part{f.Mood != lifecycle.Cross, "Mood is not Cross"},
		)
	case content(f) && play(f).Result == lifecycle.Feed && (f.Asleep && f.Hungry || !f.Hungry):
		return because(lifecycle.Feed, Reason{
			Result: "Feed", Decision: "Decide", Case: 2,
			Says: "The cat plays.",
		},
			part{content(f), "content"},
			part{play(f).Result == lifecycle.Feed, "play decides Feed"},
			part{f.Asleep && f.Hungry, "Asleep"},
			part{f.Asleep && f.Hungry, "Hungry"},
			part{!f.Hungry, "not Hungry"},
		)
	default:
		return play(f)
	}
}

// play explains the decision lifecycle.play.
func play(f lifecycle.Facts) Explanation[lifecycle.Action] {
	switch {
	default:
		return because(lifecycle.Feed, Reason{
			Result: "Feed", Decision: "play", Case: 1,
			Says: "Nothing else helps.",
		})
	}
}

// content is the fact of this name, which is derived from others.
func content(f lifecycle.Facts) bool {
	return f.Fed && f.Mood == lifecycle.Calm
}
`
	got := noError(t)(explanations(stageSource{decide, facts, decideStage}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	nested := strings.Replace(decide, "(f.Asleep || !f.Fed)", "(f.Asleep && (f.Fed || f.Hungry) || !f.Fed)", 1)
	if text, err := explanations(stageSource{nested, facts, decideStage}); err == nil {
		t.Errorf("an alternative with alternatives was explained as\n%s", text)
	}
	for name, wrong := range map[string]string{
		"Loop":      "func (f Facts) content() bool { for { } }",
		"OtherName": "func (g Facts) content() bool { return g.Fed }",
		"Number":    "func (f Facts) content() bool { return 1 == 1 }",
	} {
		t.Run(name, func(t *testing.T) {
			source := stageSource{decide, someFacts + "\n// content says so.\n" + wrong + "\n", decideStage}
			if text, err := explanations(source); err == nil {
				t.Errorf("was explained as\n%s", text)
			}
		})
	}
}
