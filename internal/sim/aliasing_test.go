package sim

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
)

// readingProcess returns a process with a cache that has read two objects.
func readingProcess(t *testing.T) (*World, *process) {
	t.Helper()
	w := shared.newWorld(Config{Kind: bucket.Kind, Scheme: theScheme()}, nil)
	for _, name := range []string{"first", "second"} {
		b := newBucket(name)
		b.Labels, b.Annotations, b.Finalizers = map[string]string{"a": "b"}, map[string]string{"a": "b"},
			[]string{"example.com/keep"}
		w.users.create(b)
	}
	w.users.Touch() // so that there is a condition
	w.users.delete(keyOf(newBucket("first")))
	p := &process{world: w, cache: newCache(w.server, w.config.gvk(), 0, 0), inPass: inPass{active: 1}}
	w.processes = append(w.processes, p)

	return w, p
}

func (p *process) borrow(t *testing.T, name string, opts ...client.GetOption) *bucket.Bucket {
	t.Helper()
	b := &bucket.Bucket{}
	if err := p.cache.get(keyOf(newBucket(name)), b, opts); err != nil {
		t.Fatal(err)
	}

	return b
}

// TestCachedObjectsAreNotMutated checks that a mutation of a cached object is found and reported with its path, at any
// depth, and a mutation of a copy is not.
func TestCachedObjectsAreNotMutated(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		opts   []client.GetOption
		change func(*bucket.Bucket)
		want   string
	}{
		"Nothing": {reason: "Nobody has changed anything.", opts: []client.GetOption{asKept},
			change: func(*bucket.Bucket) {}},
		"Copy": {reason: "Everybody may change his copy.", change: func(b *bucket.Bucket) { b.Annotations["a"] = "c" }},
		"Struct": {reason: "The outermost struct is one's own.", opts: []client.GetOption{asKept},
			change: func(b *bucket.Bucket) { b.Spec.Size, b.Labels = 7, nil }},
		"Annotation": {reason: "Maps are shared.", opts: []client.GetOption{asKept},
			change: func(b *bucket.Bucket) { b.Annotations["c"] = "d" }, want: "metadata.annotations.c"},
		"Finalizer": {reason: "Slices are shared.", opts: []client.GetOption{asKept},
			change: func(b *bucket.Bucket) { b.Finalizers[0] = "" }, want: "metadata.finalizers"},
		"Condition": {reason: "What is in a slice is shared.", opts: []client.GetOption{asKept},
			change: func(b *bucket.Bucket) { b.Status.Conditions[0].Message = "seen" }, want: "status.conditions"},
		"Time": {reason: "What a pointer leads to is shared.", opts: []client.GetOption{asKept},
			change: func(b *bucket.Bucket) { *b.DeletionTimestamp = metav1.Time{} },
			want:   "metadata.deletionTimestamp"},
		"Zone": {reason: "It is the same time.", opts: []client.GetOption{asKept}, change: func(b *bucket.Bucket) {
			*b.DeletionTimestamp = metav1.NewTime(b.DeletionTimestamp.In(time.FixedZone("", 3600)))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := readingProcess(t)
			c.change(p.borrow(t, "first", c.opts...))
			w.judgeAliases(p, firstKey)
			switch {
			case c.want == "" && len(w.violation) > 0:
				t.Errorf("%s But %v", c.reason, w.violation)
			case c.want != "" && (len(w.violation) != 1 || w.violation[0].Property != "S24" ||
				!strings.HasSuffix(w.violation[0].Text, "changed in "+c.want)):
				t.Errorf("%s But %v", c.reason, w.violation)
			}
			if stored := w.users.see(firstKey); stored.GetAnnotations()["a"] != "b" ||
				len(stored.GetAnnotations()) > 2 {
				t.Errorf("what is stored was changed: %v", stored)
			}
		})
	}
}

// TestMutatedObjectStaysUntilTheNextVersion checks that all readers see a mutated object until the next version comes,
// as in a real cache.
func TestMutatedObjectStaysUntilTheNextVersion(t *testing.T) {
	w, p := readingProcess(t)
	p.borrow(t, "first", asKept).Annotations["c"] = "d"
	if b := p.borrow(t, "first"); b.Annotations["c"] != "d" || b.Kind != bucket.Kind.Kind {
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
		t.Errorf("a watch reports another object than the cached one: %v", old)
	}
	if b := p.borrow(t, "first", asKept); b.Annotations["c"] != "" {
		t.Error("the next version has what was never written")
	}
	if w.judgeAliases(p, firstKey); len(w.violation) == 0 {
		t.Error("the mutation of the version before is not reported")
	}
	if len(p.cache.aliases) != 1 {
		t.Errorf("%d objects are lent", len(p.cache.aliases))
	}
}

// TestMutationOfAnotherObject checks that a pass that mutates the object of another pass is found when that object is
// judged, at the latest at the end of the run.
func TestMutationOfAnotherObject(t *testing.T) {
	w, p := readingProcess(t)
	p.borrow(t, "second", asKept).Annotations["c"] = "d"
	if w.judgeAliases(p, firstKey); len(w.violation) > 0 {
		t.Errorf("the pass over the first is said to be over: %v", w.violation)
	}
	if w.judgeCaches(); len(w.violation) != 1 {
		t.Errorf("in the end: %v", w.violation)
	}
}
