package role

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func id(password string) string { return identify(verifier(password)) }

// TestPlan has a row for each case of a password, and for each state in which a process can end.
func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		facts facts
		want  outcome
	}{
		"NothingYet": {
			facts{},
			outcome{publish: passwords{"new", "new"}, apply: "new"},
		},
		"FirstIsStored": {
			facts{secret: passwords{"a", "a"}},
			outcome{publish: passwords{"a", "a"}, apply: "a"},
		},
		"FirstIsSet": {
			facts{note: note{password: id("a")}, secret: passwords{"a", "a"}},
			outcome{publish: passwords{"a", "a"}, settled: id("a")},
		},
		"RotationIsAskedFor": {
			facts{note: note{password: id("a")}, asked: "1", secret: passwords{"a", "a"}},
			outcome{publish: passwords{"a", "new"}, apply: "new"},
		},
		"NextIsStored": {
			facts{note: note{password: id("a")}, asked: "1", secret: passwords{"a", "b"}},
			outcome{publish: passwords{"a", "b"}, apply: "b"},
		},
		"NextIsSet": {
			facts{note: note{password: id("b"), rotation: "1"}, asked: "1", secret: passwords{"a", "b"}},
			outcome{publish: passwords{"b", "b"}, settled: id("b")},
		},
		"AnotherRotationBeforeThePromotion": { // the one that works stays, under the other key
			facts{note: note{password: id("b"), rotation: "1"}, asked: "2", secret: passwords{"a", "b"}},
			outcome{publish: passwords{"b", "new"}, apply: "new"},
		},
		"AnotherRotationWhileTheNextIsStored": {
			facts{note: note{password: id("a")}, asked: "2", secret: passwords{"a", "b"}},
			outcome{publish: passwords{"a", "b"}, apply: "b"},
		},
		"SecretIsLost": {
			facts{note: note{password: id("a")}},
			outcome{publish: passwords{"new", "new"}, apply: "new"},
		},
		"SecretOfABackup": {
			facts{note: note{password: id("c")}, secret: passwords{"a", "a"}},
			outcome{publish: passwords{"a", "a"}, apply: "a"},
		},
		"SomebodySetAnother": {
			facts{note: note{password: id("a")}, drifted: true, secret: passwords{"a", "a"}},
			outcome{publish: passwords{"a", "a"}, apply: "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := plan(c.facts, func() string { return "new" })
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(outcome{}, passwords{})); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestPlanEnds follows plan from every state until nothing is left to do, through a process that may end after each
// step, and checks that a password under one of the keys works at each moment after the first.
func TestPlanEnds(t *testing.T) {
	known := []string{"", "a", "b", "c"}
	for _, current := range known {
		for _, next := range known {
			for _, server := range known {
				for _, rotated := range []string{"", "1"} {
					f := facts{asked: "1", secret: passwords{current, next}}
					if server != "" {
						f.note = note{password: id(server), rotation: rotated}
					}
					follow(t, f, server)
				}
			}
		}
	}
}

func follow(t *testing.T, f facts, server string) {
	t.Helper()
	start, worked := f, f.working() != ""
	for step := range 4 {
		out := plan(f, func() string { return "new" })
		f.secret = out.publish
		works := f.secret.current == server || f.secret.next == server
		if worked && !works {
			t.Fatalf("from %+v: after step %d no key has the password of the server", start, step)
		}
		worked = worked || works
		if out.apply == "" {
			if out.settled != id(server) || f.secret.current != server {
				t.Fatalf("from %+v: it is settled with %+v, and the server has %q", start, f.secret, server)
			}

			return
		}
		if got, err := apply(f); err != nil || got != out.apply {
			t.Fatalf("from %+v: Update applies %q, %v, and Observe wanted %q", start, got, err, out.apply)
		}
		server = out.apply
		f.note = note{password: id(server), rotation: f.asked}
	}
	t.Fatalf("from %+v: it does not end", start)
}

func TestNote(t *testing.T) {
	for _, n := range []note{{}, {stamp: "a/b"}, {"a/b", "0123", ""}, {"a/b", "0123", "2026-01-01"}} {
		if got := parse(n.String()); got != n {
			t.Errorf("got %+v, want %+v", got, n)
		}
	}
}

func TestGenerate(t *testing.T) {
	if a, b := generate(), generate(); a == b || len(a) != 43 {
		t.Errorf("passwords of %d characters, equal: %v", len(a), a == b)
	}
}
