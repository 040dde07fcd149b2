package managed_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// hand returns an object as a cache does: a deep copy or, without one, a shallow copy of the cached object, without
// its kind.
func hand(kept, out client.Object, opts []client.GetOption) {
	asked := (&client.GetOptions{}).ApplyOptions(opts).UnsafeDisableDeepCopy
	itself := asked != nil && *asked
	if !itself {
		kept = kept.DeepCopyObject().(client.Object)
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(kept).Elem())
	if itself {
		out.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// A cabinet is where a cache keeps what it hands out. It knows what each of that was like.
type cabinet struct {
	mu      sync.Mutex
	objects []handedOut
}

// A handedOut is what a cache keeps of an object, and what that was like when it was handed out.
type handedOut struct{ kept, like client.Object }

func (s *cabinet) hand(o, out client.Object, opts []client.GetOption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = append(s.objects, handedOut{o,
		o.DeepCopyObject().(client.Object)})
	hand(o, out, opts)
}

// changed returns how what the cache keeps differs from what it was like, and forgets what
// was handed out until now.
func (s *cabinet) changed() (diff string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.objects {
		if !reflect.DeepEqual(l.kept, l.like) {
			diff += cmp.Diff(l.like, l.kept)
		}
	}
	s.objects = nil

	return diff
}

// untouched fails the test if a cached object was changed.
func (s *cabinet) untouched(t testing.TB) {
	t.Helper()
	if diff := s.changed(); diff != "" {
		t.Errorf("what the cache keeps was changed: %s", diff)
	}
}

// A client that writes wherever it can: to what it is given, and not to copies of its
// parts.
type scribbler struct{ managed.ExternalClient }

func (s scribbler) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	scribble(mg)

	return s.ExternalClient.Observe(ctx, mg)
}

func (s scribbler) Create(ctx context.Context, mg resource.Managed) error {
	scribble(mg)

	return s.ExternalClient.Create(ctx, mg)
}

func scribble(mg resource.Managed) {
	v := mg.(*volume.Volume)
	if v.Annotations != nil {
		v.Annotations["note"] = "seen"
	}
	if v.Labels != nil {
		v.Labels["note"] = "seen"
	}
	for i := range v.Status.Conditions {
		v.Status.Conditions[i].Message = "seen"
	}
}

// TestCabinet verifies that the cache of the tests detects changes of objects that were handed out uncopied, and of
// no copy.
func TestCabinet(t *testing.T) {
	asKept := []client.GetOption{&client.GetOptions{UnsafeDisableDeepCopy: new(true)}}
	for _, tc := range []struct {
		opts []client.GetOption
		want bool
	}{{asKept, true}, {nil, false}} {
		s, first, second := &cabinet{}, &volume.Volume{}, &volume.Volume{}
		labels := map[string]string{"a": "b"}
		s.hand(&volume.Volume{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: labels}}, first, tc.opts)
		s.hand(&volume.Volume{}, second, nil)
		first.Labels["note"] = "seen"
		if got := s.changed() != ""; got != tc.want {
			t.Errorf("changed: %t, want %t", got, tc.want)
		}
	}
}

// TestPassChangesNothingOfTheCache verifies that a pass works on a copy of the cached object, whatever the author's
// code and the API server do.
func TestPassChangesNothingOfTheCache(t *testing.T) {
	w := newWorld(t, managed.WithCreationGracePeriod(0), managed.WithInitializers(managed.InitializerFn(
		func(_ context.Context, mg resource.Managed) error { scribble(mg); return nil })))
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return scribbler{c} })
	w.create(func(v *volume.Volume) {
		v.Labels, v.Annotations = map[string]string{"a": "b"}, map[string]string{"a": "b"}
	})
	w.pass()
	if !meta.FinalizerExists(w.get(), managed.FinalizerName) {
		t.Fatal("nothing was done")
	}
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	w.pass()
	w.delete()
	for range 3 {
		if !w.gone() {
			w.pass()
		}
	}
	if !w.gone() {
		t.Error("it is still there")
	}
}

// TestPassKnowsTheKind verifies that an object has its kind, although an uncopied read from the cache, and a live
// read, may lack it.
func TestPassKnowsTheKind(t *testing.T) {
	w := newWorld(t)
	kind := ""
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient {
		return managed.ExternalClientFns{ObserveFn: func(ctx context.Context,
			mg resource.Managed) (managed.ExternalObservation, error) {
			kind = mg.GetObjectKind().GroupVersionKind().Kind

			return c.Observe(ctx, mg)
		}, CreateFn: c.Create}
	})
	w.create(nil)
	before := w.get()
	w.pass()
	if kind != volume.Kind.Kind {
		t.Errorf("the author is given a %q", kind)
	}
	kind, w.lag = "", before
	w.pass()
	if kind != volume.Kind.Kind {
		t.Errorf("behind a cache that lags the author is given a %q", kind)
	}
}
