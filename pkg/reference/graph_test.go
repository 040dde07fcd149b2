package reference

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/errors"
)

func TestCycle(t *testing.T) {
	node := func(name string) Referent { return Referent{diskGK, "a", name} }
	nodes := func(names ...string) (out []Referent) {
		for _, n := range names {
			out = append(out, node(n))
		}

		return out
	}

	cases := map[string]struct {
		reason   string
		edges    map[string][]string
		from, to string
		want     []Referent
	}{
		"None":  {"Without edges there is no cycle.", nil, "a", "b", nil},
		"Chain": {"Nor in a chain.", map[string][]string{"b": {"c"}, "c": {"d"}}, "a", "b", nil},
		"Pair":  {"Two wait for each other.", map[string][]string{"b": {"a"}}, "a", "b", nodes("a", "b")},
		"Three": {"Three in a circle.", map[string][]string{"b": {"c"}, "c": {"a"}}, "a", "b", nodes("a", "b", "c")},
		"Shortest": {"Of two cycles the shorter is returned.",
			map[string][]string{"b": {"c", "d"}, "c": {"e"}, "e": {"a"}, "d": {"a"}}, "a", "b", nodes("a", "b", "d")},
		"Outside": {"Who waits for a cycle is no part of it.", map[string][]string{"b": {"c"}, "c": {"b"}}, "a",
			"b", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewGraph()
			for from, to := range tc.edges {
				g.set(node(from), nodes(to...))
			}
			if diff := cmp.Diff(tc.want, g.cycle(node(tc.from), node(tc.to))); diff != "" {
				t.Errorf("%s\ncycle(%s, %s): -want, +got:\n%s", tc.reason, tc.from, tc.to, diff)
			}
		})
	}
}

// TestLongSearch: a search in a long chain ends early, and finds short cycles.
func TestLongSearch(t *testing.T) {
	node := func(i int) Referent { return Referent{diskGK, "a", fmt.Sprint(i)} }
	g := NewGraph()
	for i := range 4 * maxSearched {
		g.set(node(i), []Referent{node(i + 1)})
	}
	if got := g.cycle(node(4*maxSearched), node(0)); got != nil {
		t.Errorf("want no cycle from so far, got one of %d", len(got))
	}
	if got := g.cycle(node(maxSearched/2), node(0)); len(got) != maxSearched/2+1 {
		t.Errorf("want a cycle of %d, got one of %d", maxSearched/2+1, len(got))
	}
}

// resolve runs a pass of an owner that refers to a disk, and returns its error.
func resolve(t *Tracker, w *world, owner *Disk, to string) error {
	rec := t.Reader(types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, w)
	_, err := NewAPIResolver(rec, owner).Resolve(context.Background(),
		ResolutionRequest{Reference: ref(to, nil), To: toDisk})
	err = errors.Wrap(err, "cannot resolve spec.neighbour")
	rec.Done(err)

	return err
}

// TestCircularReferences: a waits for b, b for c, c for a. The last one detects it first, then all; when one of them
// gets its value, all are resolved.
func TestCircularReferences(t *testing.T) {
	a, b, c := disk("a", "a"), disk("a", "b"), disk("a", "c")
	w := newWorld(a, b, c)
	tr := NewTracker(testScheme())

	checkError(t, "b is not known to wait.", resolve(tr, w, a, "b"), ReasonNoValue, nil)
	checkError(t, "c is not known to wait.", resolve(tr, w, b, "c"), ReasonNoValue, nil)

	err := resolve(tr, w, c, "a")
	checkError(t, "a waits for b, which waits for c.", err, ReasonCycle, nil)
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Fatal("want a RefusedError")
	}
	want := []Referent{{diskGK, "a", "c"}, {diskGK, "a", "a"}, {diskGK, "a", "b"}}
	if diff := cmp.Diff(want, refused.Cycle); diff != "" {
		t.Errorf("the cycle: -want, +got:\n%s", diff)
	}

	checkError(t, "a sees it too.", resolve(tr, w, a, "b"), ReasonCycle, nil)
	checkError(t, "So does b.", resolve(tr, w, b, "c"), ReasonCycle, nil)

	w.put(disk("a", "c", external("c")))
	checkError(t, "b gets its value.", resolve(tr, w, b, "c"), "", nil)
	checkError(t, "b waits for nobody: no cycle is left.", resolve(tr, w, c, "a"), ReasonNoValue, nil)

	tr.Forget(types.NamespacedName{Namespace: "a", Name: "a"})
	tr.Forget(types.NamespacedName{Namespace: "a", Name: "b"})
	tr.Forget(types.NamespacedName{Namespace: "a", Name: "c"})
	checkEmpty(t, tr)
}

// TestSharedGraph: two controllers find a cycle between their kinds.
func TestSharedGraph(t *testing.T) {
	g := NewGraph()
	w := newWorld(instance("a", "instance"), disk("a", "b"))
	instances, disks := NewTracker(testScheme(), WithGraph(g)), NewTracker(testScheme(), WithGraph(g))

	rec := instances.Reader(types.NamespacedName{Namespace: "a", Name: "instance"}, w)
	_, err := NewAPIResolver(rec, instance("a", "instance")).Resolve(context.Background(),
		ResolutionRequest{Reference: ref("b", nil), To: toDisk})
	rec.Done(err)
	checkError(t, "The instance waits for the disk.", err, ReasonNoValue, nil)

	rec = disks.Reader(types.NamespacedName{Namespace: "a", Name: "b"}, w)
	r := NewAPIResolver(rec, disk("a", "b"))
	_, err = r.Resolve(context.Background(),
		ResolutionRequest{Reference: ref("instance", optional), To: To{Managed: &Instance{}}})
	checkError(t, "Who can do without breaks the cycle.", err, "", nil)
	_, err = r.Resolve(context.Background(), ResolutionRequest{
		Reference: ref("instance", nil), To: To{Managed: &Instance{}},
	})
	rec.Done(err)
	checkError(t, "The disk waits for the instance.", err, ReasonCycle, nil)

	instances.Forget(types.NamespacedName{Namespace: "a", Name: "instance"})
	disks.Forget(types.NamespacedName{Namespace: "a", Name: "b"})
	if len(g.edges) > 0 {
		t.Errorf("want nobody to wait, got %v", g.edges)
	}
}

func TestEdgesIn(t *testing.T) {
	from, b, c := Referent{instanceGK, "a", "instance"}, Referent{diskGK, "a", "b"}, Referent{diskGK, "a", "c"}
	waiting := func(r Referent) error { return &WaitingError{Referent: r, Reason: ReasonNoValue, from: from} }

	cases := map[string]struct {
		reason string
		err    error
		want   []Referent
	}{
		"Nil":     {"No error, no waiting.", nil, nil},
		"Other":   {"A failure is no waiting.", errors.New("boom"), nil},
		"Wrapped": {"What is wrapped counts.", errors.Wrap(errors.Wrap(waiting(b), "x"), "y"), []Referent{b}},
		"Several": {"Each of several counts.",
			errors.Errorf("%w, %w, %w", waiting(b), errors.New("boom"), errors.Wrap(waiting(c), "x")),
			[]Referent{b, c}},
		"Cycle": {"A member of a cycle waits.", &RefusedError{Referent: b, Reason: ReasonCycle, from: from},
			[]Referent{b}},
		"Refused": {"Who is refused does not wait.",
			&RefusedError{Referent: b, Reason: ReasonNotGranted, from: from}, nil},
		"Nameless": {"Whoever waits for a match waits too.", waiting(Referent{diskGK, "a", ""}),
			[]Referent{{diskGK, "a", ""}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			self, got := dependenciesIn(tc.err)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nwaitsIn(%v): -want, +got:\n%s", tc.reason, tc.err, diff)
			}
			if len(got) > 0 && self != from {
				t.Errorf("%s\nwant %v to wait, got %v", tc.reason, from, self)
			}
		})
	}
}
