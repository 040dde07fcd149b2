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

var instanceKey = types.NamespacedName{Namespace: "a", Name: "instance"}

// checkEmpty fails if a tracker has any state left.
func checkEmpty(t *testing.T, tr *Tracker) {
	t.Helper()
	if len(tr.owners)+len(tr.kinds)+len(tr.graph.edges) > 0 {
		t.Errorf("want a tracker that remembers nothing; it remembers %d owners, %d kinds, %d who wait",
			len(tr.owners), len(tr.kinds), len(tr.graph.edges))
	}
}

// woken returns the names of the owners that a change concerns.
func woken(tr *Tracker, c change) []string {
	c.gvk = diskGVK
	out := []string{}
	for o := range tr.affectedOwners(c) {
		out = append(out, o.String())
	}
	slices.Sort(out)

	return out
}

func TestConcerned(t *testing.T) {
	east, west := labelled("zone", "east"), labelled("zone", "west")
	yes, no := []string{"a/instance"}, []string{}
	get := func(r client.Reader) error {
		return r.Get(context.Background(), types.NamespacedName{Namespace: "a", Name: "b"}, &Disk{})
	}
	list := func(o ...client.ListOption) func(r client.Reader) error {
		return func(r client.Reader) error { return r.List(context.Background(), &DiskList{}, o...) }
	}
	inLee := list(client.InNamespace("a"), client.MatchingLabels{"zone": "east"})

	cases := map[string]struct {
		reason  string
		objects []client.Object
		read    func(r client.Reader) error
		change  change
		want    []string
	}{
		"Created": {"What was missing is there.", nil, get, change{new: disk("a", "b", version("7"))}, yes},
		"Changed": {"What was read has changed.", []client.Object{disk("a", "b", version("6"))}, get, change{
			old: disk("a", "b", version("6")), new: disk("a", "b", version("7")),
		}, yes},
		"Seen": {"What was read is known already.", []client.Object{disk("a", "b", version("7"))}, get, change{
			old: disk("a", "b", version("6")), new: disk("a", "b", version("7")),
		}, no},
		"Listed": {"So is what a watch begins with.", []client.Object{disk("a", "b", version("7"))}, get,
			change{new: disk("a", "b", version("7"))}, no},
		"Deleted": {"That it is gone is news, whatever its version.",
			[]client.Object{disk("a", "b", version("7"))}, get, change{old: disk("a", "b", version("7"))}, yes},
		"OtherName":      {"Another object is not the one.", nil, get, change{new: disk("a", "c")}, no},
		"OtherNamespace": {"Nor is a namesake elsewhere.", nil, get, change{new: disk("b", "b")}, no},
		"Matches":        {"Something that matches was created.", nil, inLee, change{new: disk("a", "x", east)}, yes},
		"NoMatch": {"What never matched is no matter.", nil, inLee,
			change{old: disk("a", "x", west), new: disk("a", "x")}, no},
		"Begins": {"It begins to match.", nil, inLee,
			change{old: disk("a", "x"), new: disk("a", "x", east)}, yes},
		"Ceases": {"It ceases to match.", nil, inLee,
			change{old: disk("a", "x", east), new: disk("a", "x", west)}, yes},
		"MatchGone":      {"What matched is gone.", nil, inLee, change{old: disk("a", "x", east)}, yes},
		"MatchElsewhere": {"What matches elsewhere was not listed.", nil, inLee, change{new: disk("b", "x", east)}, no},
		"Everywhere": {"A list of all namespaces has all.", nil, list(client.MatchingLabels{"zone": "east"}),
			change{new: disk("b", "x", east)}, yes},
		"Everything": {"A list without a selector has everything.", nil, list(client.InNamespace("a")),
			change{new: disk("a", "x")}, yes},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tr := NewTracker(testScheme())
			rec := tr.Reader(instanceKey, newWorld(tc.objects...))
			_ = tc.read(rec) // Not found is an answer too.

			if diff := cmp.Diff(tc.want, woken(tr, tc.change)); diff != "" {
				t.Errorf("%s\nduring the pass: -want, +got:\n%s", tc.reason, diff)
			}
			rec.Done(nil)
			if diff := cmp.Diff(tc.want, woken(tr, tc.change)); diff != "" {
				t.Errorf("%s\nafter the pass: -want, +got:\n%s", tc.reason, diff)
			}
			tr.Forget(instanceKey)
			checkEmpty(t, tr)
		})
	}
}

// TestClusterScopedEdges: an owner that names a namespace for a cluster-scoped object is enqueued as well.
func TestClusterScopedEdges(t *testing.T) {
	tr := NewTracker(testScheme())
	rec := tr.Reader(instanceKey, newWorld())
	_ = rec.Get(context.Background(), types.NamespacedName{Namespace: "a", Name: "h"}, &Network{})
	_ = rec.List(context.Background(), &NetworkList{}, client.InNamespace("a"), client.MatchingLabels{"zone": "east"})

	gvk := group.WithKind("Network")
	for name, c := range map[string]change{
		"object": {gvk: gvk, new: network("h")},
		"list":   {gvk: gvk, new: network("x", labelled("zone", "east"))},
	} {
		if len(tr.affectedOwners(c)) != 1 {
			t.Errorf("%s: want one owner to be woken, got %v", name, tr.affectedOwners(c))
		}
	}
}

// TestDoneReplaces: an owner is requeued for changes of objects that its last pass read, and for no others.
func TestDoneReplaces(t *testing.T) {
	w := newWorld(disk("a", "x", external("X")))
	tr := NewTracker(testScheme())
	pass := func(req ResolutionRequest) error {
		rec := tr.Reader(instanceKey, w)
		req.To = toDisk
		_, err := NewAPIResolver(rec, instance("a", "instance")).Resolve(context.Background(), req)
		rec.Done(err)

		return err
	}
	x, y := change{new: disk("a", "x", version("9"))}, change{new: disk("a", "y", version("9"))}

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

// TestAfterDone: reads after the end of the pass leave no state.
func TestAfterDone(t *testing.T) {
	tr := NewTracker(testScheme())
	rec := tr.Reader(instanceKey, newWorld(disk("a", "x", external("X"))))
	rec.Done(nil)

	b := &Disk{}
	if err := rec.Get(context.Background(), types.NamespacedName{Namespace: "a", Name: "x"}, b); err != nil ||
		b.Name != "x" {
		t.Errorf("want x, got %v, %v", b, err)
	}
	checkEmpty(t, tr)
}

// TestOwnChanges: an owner that is in its own list is not requeued by its own writes.
func TestOwnChanges(t *testing.T) {
	tr := NewTracker(testScheme())
	rec := tr.Reader(types.NamespacedName{Namespace: "a", Name: "b"}, newWorld())
	_, err := NewAPIResolver(rec, disk("a", "b")).Resolve(context.Background(),
		ResolutionRequest{Selector: &commonv1.NamespacedSelector{}, To: toDisk})
	rec.Done(err)

	if got := woken(tr, change{new: disk("a", "b", version("9"))}); len(got) != 0 {
		t.Errorf("its own change: want nobody to be woken, got %v", got)
	}
	if got := woken(tr, change{new: disk("a", "c", version("9"))}); len(got) != 1 {
		t.Errorf("the change of another one: want it to be woken, got %v", got)
	}
}

// TestErrorsPass: the errors of reads reach the author.
func TestErrorsPass(t *testing.T) {
	boom := errors.New("boom")
	w := newWorld()
	w.err = boom
	rec := NewTracker(testScheme()).Reader(instanceKey, w)
	if err := rec.Get(context.Background(), instanceKey, &Disk{}); !errors.Is(err, boom) {
		t.Errorf("Get: want %v, got %v", boom, err)
	}
	if err := rec.List(context.Background(), &DiskList{}); !errors.Is(err, boom) {
		t.Errorf("List: want %v, got %v", boom, err)
	}

	type unregistered struct{ Disk }
	if err := rec.Get(context.Background(), instanceKey, &unregistered{}); err == nil || errors.Is(err, boom) {
		t.Errorf("A type that the scheme does not know cannot be watched: got %v", err)
	}
}

// TestNothingGrows: 10,000 owners that wait, follow, select and go leave nothing.
func TestNothingGrows(t *testing.T) {
	const owners = 10_000
	w := newWorld(disk("a", "x", external("X"), version("1")), disk("a", "y", version("1"), labelled("zone", "east")))
	tr := NewTracker(testScheme())

	reqs := []ResolutionRequest{
		{Reference: ref("x", always), To: toDisk},
		{Reference: ref("y", nil), To: toDisk},
		{Reference: ref("gone", nil), To: toDisk},
		{Selector: &commonv1.NamespacedSelector{MatchLabels: map[string]string{"zone": "east"}}, To: toDisk},
		{CurrentValue: "X", Reference: ref("x", nil), To: toDisk},
	}
	for i := range owners {
		w.reads = w.reads[:0]
		mg := instance("a", fmt.Sprint("instance-", i))
		rec := tr.Reader(client.ObjectKeyFromObject(mg), w)
		_, err := NewAPIResolver(rec, mg).Resolve(context.Background(), reqs[i%len(reqs)])
		rec.Done(err)
	}
	if want := owners / len(reqs) * 4; len(tr.owners) != want {
		t.Errorf("want %d owners, those that read something, got %d", want, len(tr.owners))
	}
	if got := len(tr.affectedOwners(change{
		gvk: diskGVK, new: disk("a", "y", version("2"), labelled("zone", "east")),
	})); got != 2*owners/len(reqs) {
		t.Errorf("want %d owners to wait for y, got %d", 2*owners/len(reqs), got)
	}

	for i := range owners {
		tr.Forget(types.NamespacedName{Namespace: "a", Name: fmt.Sprint("instance-", i)})
	}
	checkEmpty(t, tr)
}

// TestSteadyPass: where nothing is to be resolved, next to nothing is done.
func TestSteadyPass(t *testing.T) {
	tr, w, mg := NewTracker(testScheme()), newWorld(), instance("a", "instance")
	req := ResolutionRequest{CurrentValue: "X", Reference: ref("x", nil), To: toDisk, Extract: ExternalName()}
	allocs := testing.AllocsPerRun(100, func() {
		rec := tr.Reader(instanceKey, w)
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

// TestConcurrently runs passes, events and removals of the same owners concurrently.
func TestConcurrently(t *testing.T) {
	tr := NewTracker(testScheme())
	w := newWorld(disk("a", "x", external("X"), version("1")), disk("a", "y", version("1")))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				mg := instance("a", fmt.Sprint("instance-", i%5))
				rec := tr.Reader(client.ObjectKeyFromObject(mg), w)
				_, err := NewAPIResolver(rec, mg).ResolveMultiple(context.Background(), MultiResolutionRequest{
					References: []commonv1.NamespacedReference{{Name: "x"}, {Name: "y"}}, To: toDisk,
				})
				tr.affectedOwners(change{gvk: diskGVK, new: disk("a", "y", version(fmt.Sprint(i)))})
				rec.Done(err)
				if g%2 == 0 {
					tr.Forget(client.ObjectKeyFromObject(mg))
				}
			}
		})
	}
	wg.Wait()
	for i := range 5 {
		tr.Forget(types.NamespacedName{Namespace: "a", Name: fmt.Sprint("instance-", i)})
	}
	checkEmpty(t, tr)
}

// TestExampleOf: a kind is watched in the form in which it is read, or the cache would hold it twice.
func TestExampleOf(t *testing.T) {
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(diskGVK)
	cases := map[string]struct {
		reason string
		read   client.Object
		want   string
	}{
		"Typed":    {"A type of the program.", &Disk{}, "*reference.Disk"},
		"Metadata": {"Metadata only.", partial, "*v1.PartialObjectMetadata"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tr := NewTracker(testScheme())
			_ = tr.Reader(instanceKey, newWorld()).Get(context.Background(), instanceKey, tc.read)
			k := tr.kinds[diskGVK]
			if k == nil {
				t.Fatalf("%s\nnothing is tracked", tc.reason)
			}
			if got := fmt.Sprintf("%T", k.example); !strings.HasSuffix(got, tc.want) ||
				k.example.GetObjectKind().GroupVersionKind() != diskGVK {
				t.Errorf("%s\nwant %s of %s, got %s of %s", tc.reason, tc.want, diskGVK, got,
					k.example.GetObjectKind().GroupVersionKind())
			}
		})
	}
}
