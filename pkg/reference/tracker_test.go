package reference

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

var boatKey = types.NamespacedName{Namespace: "a", Name: "boat"}

// checkEmpty looks for anything that a tracker still remembers.
func checkEmpty(t *testing.T, tr *Tracker) {
	t.Helper()
	if len(tr.owners)+len(tr.kinds)+len(tr.graph.edges) > 0 {
		t.Errorf("want a tracker that remembers nothing; it remembers %d owners, %d kinds, %d who wait",
			len(tr.owners), len(tr.kinds), len(tr.graph.edges))
	}
}

// woken returns the names of the owners that a change concerns.
func woken(tr *Tracker, c change) []string {
	c.gvk = berthGVK
	out := []string{}
	for o := range tr.affectedOwners(c) {
		out = append(out, o.String())
	}
	slices.Sort(out)

	return out
}

func TestConcerned(t *testing.T) {
	lee, windward := labelled("side", "lee"), labelled("side", "windward")
	yes, no := []string{"a/boat"}, []string{}
	get := func(r client.Reader) error {
		return r.Get(context.Background(), types.NamespacedName{Namespace: "a", Name: "b"}, &Berth{})
	}
	list := func(o ...client.ListOption) func(r client.Reader) error {
		return func(r client.Reader) error { return r.List(context.Background(), &BerthList{}, o...) }
	}
	inLee := list(client.InNamespace("a"), client.MatchingLabels{"side": "lee"})

	cases := map[string]struct {
		reason  string
		objects []client.Object
		read    func(r client.Reader) error
		change  change
		want    []string
	}{
		"Created": {"What was missing is there.", nil, get, change{new: berth("a", "b", version("7"))}, yes},
		"Changed": {"What was read has changed.", []client.Object{berth("a", "b", version("6"))}, get, change{
			old: berth("a", "b", version("6")), new: berth("a", "b", version("7")),
		}, yes},
		"Seen": {"What was read is known already.", []client.Object{berth("a", "b", version("7"))}, get, change{
			old: berth("a", "b", version("6")), new: berth("a", "b", version("7")),
		}, no},
		"Listed": {"So is what a watch begins with.", []client.Object{berth("a", "b", version("7"))}, get,
			change{new: berth("a", "b", version("7"))}, no},
		"Deleted": {"That it is gone is news, whatever its version.",
			[]client.Object{berth("a", "b", version("7"))}, get, change{old: berth("a", "b", version("7"))}, yes},
		"OtherName":      {"Another object is not the one.", nil, get, change{new: berth("a", "c")}, no},
		"OtherNamespace": {"Nor is a namesake elsewhere.", nil, get, change{new: berth("b", "b")}, no},
		"Matches":        {"Something that matches was created.", nil, inLee, change{new: berth("a", "x", lee)}, yes},
		"NoMatch": {"What never matched is no matter.", nil, inLee,
			change{old: berth("a", "x", windward), new: berth("a", "x")}, no},
		"Begins": {"It begins to match.", nil, inLee,
			change{old: berth("a", "x"), new: berth("a", "x", lee)}, yes},
		"Ceases": {"It ceases to match.", nil, inLee,
			change{old: berth("a", "x", lee), new: berth("a", "x", windward)}, yes},
		"MatchGone":      {"What matched is gone.", nil, inLee, change{old: berth("a", "x", lee)}, yes},
		"MatchElsewhere": {"What matches elsewhere was not listed.", nil, inLee, change{new: berth("b", "x", lee)}, no},
		"Everywhere": {"A list of all namespaces has all.", nil, list(client.MatchingLabels{"side": "lee"}),
			change{new: berth("b", "x", lee)}, yes},
		"Everything": {"A list without a selector has everything.", nil, list(client.InNamespace("a")),
			change{new: berth("a", "x")}, yes},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tr := NewTracker(testScheme())
			rec := tr.Reader(boatKey, newWorld(tc.objects...))
			_ = tc.read(rec) // Not found is an answer too.

			if diff := cmp.Diff(tc.want, woken(tr, tc.change)); diff != "" {
				t.Errorf("%s\nduring the pass: -want, +got:\n%s", tc.reason, diff)
			}
			rec.Done(nil)
			if diff := cmp.Diff(tc.want, woken(tr, tc.change)); diff != "" {
				t.Errorf("%s\nafter the pass: -want, +got:\n%s", tc.reason, diff)
			}
			tr.Forget(boatKey)
			checkEmpty(t, tr)
		})
	}
}

// TestClusterScopedEdges: whoever names a namespace for what has none is woken all the same.
func TestClusterScopedEdges(t *testing.T) {
	tr := NewTracker(testScheme())
	rec := tr.Reader(boatKey, newWorld())
	_ = rec.Get(context.Background(), types.NamespacedName{Namespace: "a", Name: "h"}, &Harbour{})
	_ = rec.List(context.Background(), &HarbourList{}, client.InNamespace("a"), client.MatchingLabels{"side": "lee"})

	gvk := group.WithKind("Harbour")
	for name, c := range map[string]change{
		"object": {gvk: gvk, new: harbour("h")},
		"list":   {gvk: gvk, new: harbour("x", labelled("side", "lee"))},
	} {
		if len(tr.affectedOwners(c)) != 1 {
			t.Errorf("%s: want one owner to be woken, got %v", name, tr.affectedOwners(c))
		}
	}
}

// TestDoneReplaces: an owner is woken for what its last pass read, and for nothing else.
func TestDoneReplaces(t *testing.T) {
	w := newWorld(berth("a", "x", external("X")))
	tr := NewTracker(testScheme())
	pass := func(req ResolutionRequest) error {
		rec := tr.Reader(boatKey, w)
		req.To = toBerth
		_, err := NewAPIResolver(rec, boat("a", "boat")).Resolve(context.Background(), req)
		rec.Done(err)

		return err
	}
	x, y := change{new: berth("a", "x", version("9"))}, change{new: berth("a", "y", version("9"))}

	checkError(t, "y is missing.", pass(ResolutionRequest{Reference: ref("y", nil)}), ReasonNotFound, nil)
	if got := woken(tr, y); len(got) != 1 {
		t.Errorf("the owner waits for y: %v", got)
	}

	checkError(t, "x is there.", pass(ResolutionRequest{Reference: ref("x", always)}), "", nil)
	if got := woken(tr, y); len(got) != 0 {
		t.Errorf("the owner is done with y: %v", got)
	}
	if got := woken(tr, x); len(got) != 1 {
		t.Errorf("the owner follows x: %v", got)
	}
	if len(tr.graph.edges) > 0 {
		t.Errorf("nobody waits: %v", tr.graph.edges)
	}

	checkError(t, "It has its value.", pass(ResolutionRequest{CurrentValue: "X", Reference: ref("x", nil)}), "", nil)
	checkEmpty(t, tr)
}

// TestAfterDone: who goes on reading after the pass leaves nothing behind.
func TestAfterDone(t *testing.T) {
	tr := NewTracker(testScheme())
	rec := tr.Reader(boatKey, newWorld(berth("a", "x", external("X"))))
	rec.Done(nil)

	b := &Berth{}
	if err := rec.Get(context.Background(), types.NamespacedName{Namespace: "a", Name: "x"}, b); err != nil ||
		b.Name != "x" {
		t.Errorf("want x, got %v, %v", b, err)
	}
	checkEmpty(t, tr)
}

// TestOwnChanges: an owner that is among what it lists is not woken by what it writes itself.
func TestOwnChanges(t *testing.T) {
	tr := NewTracker(testScheme())
	rec := tr.Reader(types.NamespacedName{Namespace: "a", Name: "b"}, newWorld())
	_, err := NewAPIResolver(rec, berth("a", "b")).Resolve(context.Background(),
		ResolutionRequest{Selector: &commonv1.NamespacedSelector{}, To: toBerth})
	rec.Done(err)

	if got := woken(tr, change{new: berth("a", "b", version("9"))}); len(got) != 0 {
		t.Errorf("its own change: want nobody to be woken, got %v", got)
	}
	if got := woken(tr, change{new: berth("a", "c", version("9"))}); len(got) != 1 {
		t.Errorf("the change of another one: want it to be woken, got %v", got)
	}
}

// TestErrorsPass: what a read answers reaches the author.
func TestErrorsPass(t *testing.T) {
	boom := errors.New("boom")
	w := newWorld()
	w.err = boom
	rec := NewTracker(testScheme()).Reader(boatKey, w)
	if err := rec.Get(context.Background(), boatKey, &Berth{}); !errors.Is(err, boom) {
		t.Errorf("Get: want %v, got %v", boom, err)
	}
	if err := rec.List(context.Background(), &BerthList{}); !errors.Is(err, boom) {
		t.Errorf("List: want %v, got %v", boom, err)
	}

	type stranger struct{ Berth }
	if err := rec.Get(context.Background(), boatKey, &stranger{}); err == nil || errors.Is(err, boom) {
		t.Errorf("A type that the scheme does not know cannot be watched: got %v", err)
	}
}

// TestNothingGrows: 10,000 owners that wait, follow, select and go leave nothing.
func TestNothingGrows(t *testing.T) {
	const owners = 10_000
	w := newWorld(berth("a", "x", external("X"), version("1")), berth("a", "y", version("1"), labelled("side", "lee")))
	tr := NewTracker(testScheme())

	reqs := []ResolutionRequest{
		{Reference: ref("x", always), To: toBerth},
		{Reference: ref("y", nil), To: toBerth},
		{Reference: ref("gone", nil), To: toBerth},
		{Selector: &commonv1.NamespacedSelector{MatchLabels: map[string]string{"side": "lee"}}, To: toBerth},
		{CurrentValue: "X", Reference: ref("x", nil), To: toBerth},
	}
	for i := range owners {
		w.reads = w.reads[:0]
		mg := boat("a", fmt.Sprint("boat-", i))
		rec := tr.Reader(client.ObjectKeyFromObject(mg), w)
		_, err := NewAPIResolver(rec, mg).Resolve(context.Background(), reqs[i%len(reqs)])
		rec.Done(err)
	}
	if want := owners / len(reqs) * 4; len(tr.owners) != want {
		t.Errorf("want %d owners, those that read something, got %d", want, len(tr.owners))
	}
	if got := len(tr.affectedOwners(change{
		gvk: berthGVK, new: berth("a", "y", version("2"), labelled("side", "lee")),
	})); got != 2*owners/len(reqs) {
		t.Errorf("want %d owners to wait for y, got %d", 2*owners/len(reqs), got)
	}

	for i := range owners {
		tr.Forget(types.NamespacedName{Namespace: "a", Name: fmt.Sprint("boat-", i)})
	}
	checkEmpty(t, tr)
}

// TestSteadyPass: where nothing is to be resolved, next to nothing is done.
func TestSteadyPass(t *testing.T) {
	tr, w, mg := NewTracker(testScheme()), newWorld(), boat("a", "boat")
	req := ResolutionRequest{CurrentValue: "X", Reference: ref("x", nil), To: toBerth, Extract: ExternalName()}
	allocs := testing.AllocsPerRun(100, func() {
		rec := tr.Reader(boatKey, w)
		if _, err := NewAPIResolver(rec, mg).Resolve(context.Background(), req); err != nil {
			t.Fatal(err)
		}
		rec.Done(nil)
	})
	if allocs > 2 {
		t.Errorf("want at most two allocations, the recorder and the resolver, got %v", allocs)
	}
	if len(w.reads) > 0 {
		t.Errorf("want no read, got %v", w.reads)
	}
}

// TestConcurrently lets passes, events and goodbyes of the same owners race.
func TestConcurrently(t *testing.T) {
	tr := NewTracker(testScheme())
	w := newWorld(berth("a", "x", external("X"), version("1")), berth("a", "y", version("1")))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				mg := boat("a", fmt.Sprint("boat-", i%5))
				rec := tr.Reader(client.ObjectKeyFromObject(mg), w)
				_, err := NewAPIResolver(rec, mg).ResolveMultiple(context.Background(), MultiResolutionRequest{
					References: []commonv1.NamespacedReference{{Name: "x"}, {Name: "y"}}, To: toBerth,
				})
				tr.affectedOwners(change{gvk: berthGVK, new: berth("a", "y", version(fmt.Sprint(i)))})
				rec.Done(err)
				if g%2 == 0 {
					tr.Forget(client.ObjectKeyFromObject(mg))
				}
			}
		})
	}
	wg.Wait()
	for i := range 5 {
		tr.Forget(types.NamespacedName{Namespace: "a", Name: fmt.Sprint("boat-", i)})
	}
	checkEmpty(t, tr)
}

// TestExampleOf: a kind is watched in the form in which it is read, or the cache would hold it twice.
func TestExampleOf(t *testing.T) {
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(berthGVK)
	cases := map[string]struct {
		reason string
		read   client.Object
		want   string
	}{
		"Typed":    {"A type of the program.", &Berth{}, "*reference.Berth"},
		"Metadata": {"Metadata only.", partial, "*v1.PartialObjectMetadata"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tr := NewTracker(testScheme())
			_ = tr.Reader(boatKey, newWorld()).Get(context.Background(), boatKey, tc.read)
			k := tr.kinds[berthGVK]
			if k == nil {
				t.Fatalf("%s\nnothing is tracked", tc.reason)
			}
			if got := fmt.Sprintf("%T", k.example); !strings.HasSuffix(got, tc.want) ||
				k.example.GetObjectKind().GroupVersionKind() != berthGVK {
				t.Errorf("%s\nwant %s of %s, got %s of %s", tc.reason, tc.want, berthGVK, got,
					k.example.GetObjectKind().GroupVersionKind())
			}
		})
	}
}
