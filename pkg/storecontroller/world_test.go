package storecontroller

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

type thing = storetest.Thing

// A world is a controller of things in memory that keeps one part in another store for each thing. It runs in a
// synctest bubble.
type world struct {
	*testing.T
	primaries *memory.Store[*thing]
	parts     *memory.Store[*thing]
	informer  *store.Informer[*thing]
	secondary *store.Informer[*thing]
	c         *Controller[*thing]
	events    *recorder

	mu           sync.Mutex
	passes       []string
	fail         map[string]error // the error of passes, by key
	skipParts    bool             // passes do not create parts
	requeueAfter time.Duration    // RequeueAfter of passes
}

// inWorld runs a test in a bubble with a started controller, and stops the controller.
func inWorld(t *testing.T, o Options, prepare func(*world), test func(*world), deps ...func(*world) Dependency) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			T: t, primaries: memory.New[*thing]("things"), parts: memory.New[*thing]("parts"), fail: map[string]error{},
			events: &recorder{},
		}
		w.informer = store.NewInformer(w.primaries, store.InformerOptions{Resync: time.Minute})
		w.secondary = store.NewInformer(w.parts, store.InformerOptions{Resync: time.Minute})
		if prepare != nil {
			prepare(w)
		}
		o.SkipNameValidation = new(true)
		if o.Resync == 0 {
			o.Resync = -1
		}
		o.Recorder = w.events
		all := []Dependency{Owns(w.secondary)}
		for _, d := range deps {
			all = append(all, d(w))
		}
		var err error
		if w.c, err = New(nil, "things", "thing", w.informer, ReconcilerFunc[*thing](w.reconcile), o, all...); err != nil {
			t.Fatal(err)
		}
		w.c.jitter = func() float64 { return 0.5 }
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, i := range w.c.Informers() {
			running.Go(func() { _ = i.Start(ctx) })
		}
		running.Go(func() {
			if err := w.c.Start(ctx); err != nil {
				t.Errorf("the controller ended: %v", err)
			}
		})
		defer running.Wait()
		defer cancel()
		w.settle()
		test(w)
	})
}

// settle waits until all goroutines are blocked, and until delayed requests of the queue are processed.
func (w *world) settle() {
	synctest.Wait()
	w.advance(100 * time.Millisecond)
}

// advance advances the clock of the bubble.
func (w *world) advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (w *world) reconcile(ctx context.Context, key string, obj *thing, found bool) (reconcile.Result, error) {
	w.mu.Lock()
	line, err, skip, requeueAfter := key+" gone", w.fail[key], w.skipParts, w.requeueAfter
	if found {
		line = key + " " + strconv.Itoa(obj.Spec.Size)
	}
	w.passes = append(w.passes, line)
	w.mu.Unlock()
	if err != nil || skip {
		return reconcile.Result{}, err
	}
	if !found {
		return reconcile.Result{}, ignore(w.parts.Delete(ctx, key), store.ErrNotFound)
	}
	part := storetest.NewThing(key, obj.Spec.Size)
	part.Metadata.Owners = []store.Owner{w.c.Owner(obj)}
	if _, err := w.parts.Create(ctx, part); ignore(err, store.ErrAlreadyExists) != nil {
		return reconcile.Result{}, err
	}
	obj.Status.Seen = obj.Spec.Size
	_, err = w.c.Primaries().UpdateStatus(ctx, obj)

	return reconcile.Result{RequeueAfter: requeueAfter}, err
}

// expectPasses compares the passes since its last call, sorted: keys have no order.
func (w *world) expectPasses(want ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.passes)
	if diff := cmp.Diff(want, w.passes); diff != "" {
		w.Errorf("passes: -want, +got:\n%s", diff)
	}
	w.passes = nil
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(key string, size int) *thing {
	w.Helper()
	out, err := w.primaries.Create(w.Context(), storetest.NewThing(key, size))
	w.must(err)

	return out
}

// expectParts compares the keys of the parts.
func (w *world) expectParts(want ...string) {
	w.Helper()
	var got []string
	for part, err := range w.parts.List(w.Context()) {
		w.must(err)
		got = append(got, part.Metadata.Key)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("parts: -want, +got:\n%s", diff)
	}
}

func ignore(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}

	return err
}

// noopReconciler does nothing.
var noopReconciler = ReconcilerFunc[*thing](func(context.Context, string, *thing, bool) (reconcile.Result, error) {
	return reconcile.Result{}, nil
})

// A recorder records the reason, the object and the key of events.
type recorder struct {
	mu        sync.Mutex
	lines     []string
	regarding []runtime.Object
	keys      []string
}

func (r *recorder) record(obj runtime.Object, e event.Event, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, string(e.Type)+" "+string(e.Reason))
	r.regarding, r.keys = append(r.regarding, obj), append(r.keys, key)
}

func (r *recorder) Event(obj runtime.Object, e event.Event) { r.record(obj, e, "") }

func (r *recorder) WithAnnotations(pairs ...string) event.Recorder {
	for n := 0; n+1 < len(pairs); n += 2 {
		if pairs[n] == event.AnnotationKeyStored {
			return keyed{r, pairs[n+1]}
		}
	}

	return r
}

type keyed struct {
	*recorder
	key string
}

func (k keyed) Event(obj runtime.Object, e event.Event) { k.record(obj, e, k.key) }

func (r *recorder) expect(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff(want, r.lines); diff != "" {
		t.Errorf("events: -want, +got:\n%s", diff)
	}
}
