package sim

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/sim/internal/berth"
)

// A lender is a process with a cache that has read two objects.
func lender(t *testing.T) (*World, *process) {
	t.Helper()
	w := newWorld(Config{Kind: berth.Kind, Scheme: theScheme()}, nil)
	for _, name := range []string{"first", "second"} {
		b := newBerth(name)
		b.Labels, b.Annotations, b.Finalizers = map[string]string{"a": "b"}, map[string]string{"a": "b"}, []string{"example.com/keep"}
		w.users.create(b)
	}
	w.users.Touch() // so that there is a condition
	w.users.delete(keyOf(newBerth("first")))
	p := &process{world: w, cache: newCache(w.server, w.config.gvk(), 0, 0), active: 1}
	w.processes = append(w.processes, p)

	return w, p
}

func (p *process) borrow(t *testing.T, name string, opts ...client.GetOption) *berth.Berth {
	t.Helper()
	b := &berth.Berth{}
	if err := p.cache.get(keyOf(newBerth(name)), b, opts); err != nil {
		t.Fatal(err)
	}

	return b
}

// TestLent: a change of what a cache keeps itself is seen and told by its place, however deep
// it is, and one of a copy is not.
func TestLent(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		opts   []client.GetOption
		change func(*berth.Berth)
		want   string
	}{
		"Nothing":    {reason: "Nobody has changed anything.", opts: []client.GetOption{asKept}, change: func(*berth.Berth) {}},
		"Copy":       {reason: "Everybody may change his copy.", change: func(b *berth.Berth) { b.Annotations["a"] = "c" }},
		"Struct":     {reason: "The outermost struct is one's own.", opts: []client.GetOption{asKept}, change: func(b *berth.Berth) { b.Spec.Length, b.Labels = 7, nil }},
		"Annotation": {reason: "Maps are shared.", opts: []client.GetOption{asKept}, change: func(b *berth.Berth) { b.Annotations["c"] = "d" }, want: "metadata.annotations.c"},
		"Finalizer":  {reason: "Slices are shared.", opts: []client.GetOption{asKept}, change: func(b *berth.Berth) { b.Finalizers[0] = "" }, want: "metadata.finalizers"},
		"Condition":  {reason: "What is in a slice is shared.", opts: []client.GetOption{asKept}, change: func(b *berth.Berth) { b.Status.Conditions[0].Message = "seen" }, want: "status.conditions"},
		"Time":       {reason: "What a pointer leads to is shared.", opts: []client.GetOption{asKept}, change: func(b *berth.Berth) { *b.DeletionTimestamp = metav1.Time{} }, want: "metadata.deletionTimestamp"},
		"Zone": {reason: "It is the same time.", opts: []client.GetOption{asKept}, change: func(b *berth.Berth) {
			*b.DeletionTimestamp = metav1.NewTime(b.DeletionTimestamp.In(time.FixedZone("", 3600)))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := lender(t)
			c.change(p.borrow(t, "first", c.opts...))
			w.judgeLent(p, firstKey)
			switch {
			case c.want == "" && len(w.violation) > 0:
				t.Errorf("%s But %v", c.reason, w.violation)
			case c.want != "" && (len(w.violation) != 1 || w.violation[0].Property != "S24" || !strings.HasSuffix(w.violation[0].Text, "changed in "+c.want)):
				t.Errorf("%s But %v", c.reason, w.violation)
			}
			if stored := w.users.see(firstKey); stored.GetAnnotations()["a"] != "b" || len(stored.GetAnnotations()) > 2 {
				t.Errorf("what is stored was changed: %v", stored)
			}
		})
	}
}

// TestLentForAsLong: what is changed stays so for all who read it until the next version comes, as in
// a real cache.
func TestLentForAsLong(t *testing.T) {
	w, p := lender(t)
	p.borrow(t, "first", asKept).Annotations["c"] = "d"
	if b := p.borrow(t, "first"); b.Annotations["c"] != "d" || b.Kind != berth.Kind.Kind {
		t.Errorf("who asks for a copy reads a %s with %v", b.Kind, b.Annotations)
	}
	if b := p.borrow(t, "first", asKept); b.Annotations["c"] != "d" || b.Kind != "" {
		t.Errorf("who asks for no copy reads a %s with %v", b.Kind, b.Annotations)
	}
	w.users.Touch()
	var old client.Object
	p.cache.deliver(w.now(), func(n notice) {
		if n.Key == firstKey && old == nil {
			old = n.Old
		}
	})
	if old == nil || old.GetAnnotations()["c"] != "d" {
		t.Errorf("a watch is told of another object than the one that was kept: %v", old)
	}
	if b := p.borrow(t, "first", asKept); b.Annotations["c"] != "" {
		t.Error("the next version has what was never written")
	}
	if w.judgeLent(p, firstKey); len(w.violation) == 0 {
		t.Error("nothing tells that the version before was changed")
	}
	if len(p.cache.lent) != 1 {
		t.Errorf("%d objects are lent", len(p.cache.lent))
	}
}

// TestLentOfAnother: what a pass changes of an object of somebody else is seen when that is looked
// at, and in the end at the latest.
func TestLentOfAnother(t *testing.T) {
	w, p := lender(t)
	p.borrow(t, "second", asKept).Annotations["c"] = "d"
	if w.judgeLent(p, firstKey); len(w.violation) > 0 {
		t.Errorf("the pass over the first is said to be over: %v", w.violation)
	}
	if w.judgeCaches(); len(w.violation) != 1 {
		t.Errorf("in the end: %v", w.violation)
	}
}
