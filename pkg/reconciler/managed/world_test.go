package managed_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A world is one volume, the API server it lives on, the cloud behind it, and
// the reconciler between them.
type world struct {
	testworld.World[client.WithWatch] // the API server itself

	kind  resource.ManagedKind
	cloud *volume.Cloud
	clock *testclock.FakePassiveClock
	m     *fake.Manager
	r     *managed.Reconciler
	o     []managed.ReconcilerOption

	mu        sync.Mutex
	requests  []string
	events    []event.Event
	annotated []string // the annotations of events
	above     []string // what was read of the API server itself besides the object

	// Answer, if set, may answer a write instead of the API server. Note is
	// what the request looks like in the list of requests.
	answer func(ctx context.Context, note string) error
	// Admit, if set, changes what is stored of an object that was patched.
	admit func(client.Object)
	// FailLive is how many of the next reads of the API server itself fail.
	failLive int
	// FailList, if set, is what lists of the API server itself are answered with.
	failList error
	// Paged lists of the API server itself have one object in each page.
	paged bool
	// OnlyIn, if set, is the only namespace that may be listed.
	onlyIn string
	// Lag, if set, is what the cache answers instead of what is stored.
	lag *volume.Volume
	// Cacheless reads find nothing in the cache.
	cacheless bool
	// Restored, if set, is what the API server itself answers, whose etcd was put back.
	restored *volume.Volume

	cabinet cabinet // of the cache
}

var key = client.ObjectKey{Namespace: "default", Name: "data"}

func newWorld(t *testing.T, o ...managed.ReconcilerOption) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := volume.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{kind: volume.Kind, cloud: &volume.Cloud{}, clock: testclock.NewFakePassiveClock(time.Now())}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(volume.GroupVersion.WithKind("Volume"), apimeta.RESTScopeNamespace)
	w.World = testworld.New(t,
		ctrlfake.NewClientBuilder().WithRESTMapper(mapper).WithScheme(scheme).WithStatusSubresource(&volume.Volume{},
			&volume.Snapshot{}).Build())
	w.o = append([]managed.ReconcilerOption{
		managed.WithExternalConnecter(w.cloud),
		managed.WithRecorder(w),
		managed.WithClock(w.clock),
		managed.WithRandom(func() float64 { return 0.5 }), // no jitter
		managed.WithSpreadAfterRestart(false),             // a test asks what a pass does
	}, o...)
	w.restart()
	t.Cleanup(func() { w.cabinet.untouched(t) })

	return w
}

// wrap puts something round the clients of the cloud.
func (w *world) wrap(wrap func(managed.ExternalClient) managed.ExternalClient) {
	w.o = append(w.o, managed.WithExternalConnecter(managed.ExternalConnectorFn(
		func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
			c, err := w.cloud.Connect(ctx, mg)
			if err != nil {
				return nil, err
			}

			return wrap(c), nil
		})))
	w.restart()
}

// restart forgets all that the process knows.
func (w *world) restart() {
	observed := interceptor.NewClient(w.API, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if w.lag != nil {
				w.cabinet.hand(w.lag.DeepCopyObject().(*volume.Volume), o, opts) // the world holds volumes only

				return nil
			}
			if w.cacheless {
				return kerrors.NewNotFound(schema.GroupResource{Group: volume.GroupVersion.Group,
					Resource: "volumes"}, key.Name)
			}
			if err := c.Get(ctx, key, o, opts...); err != nil {
				return err
			}
			w.cabinet.hand(o.DeepCopyObject().(client.Object), o, opts)

			return nil
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := w.request(ctx, "create", o, client.RawPatch("", []byte("{}"))); err != nil {
				return err
			}

			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			if err := w.request(ctx, "patch", o, patch); err != nil {
				return err
			}

			if err := c.Patch(ctx, o, patch, opts...); err != nil || w.admit == nil {
				return err
			}
			w.admit(o)

			return c.Update(ctx, o)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption) error {
			if err := w.request(ctx, "patch "+sub, o, patch); err != nil {
				return err
			}

			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			w.Error("the runtime sent a PUT")

			return nil
		},
	})
	w.m = &fake.Manager{Client: observed, Scheme: w.API.Scheme()}
	w.r = w.reconciler(w.m)
}

// reconciler makes one for a process whose manager this is.
func (w *world) reconciler(m manager.Manager) *managed.Reconciler {
	return managed.NewReconciler(m, w.kind, append([]managed.ReconcilerOption{managed.WithCluster(reader{w.m,
		w.listener()})}, w.o...)...)
}

// A reader is a cluster whose reader without a cache is the API server.
type reader struct {
	*fake.Manager

	live client.Reader
}

func (r reader) GetAPIReader() client.Reader { return r.live }

// listener is the API server itself, and notes what is read of it besides the object.
func (w *world) listener() client.Reader {
	return interceptor.NewClient(w.API, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if w.failLive > 0 {
				w.failLive--

				return errLost
			}
			if v, ok := o.(*volume.Volume); ok && w.restored != nil {
				*v = *w.restored.DeepCopyObject().(*volume.Volume)

				return nil
			}
			if above, ok := o.(*metav1.PartialObjectMetadata); ok {
				w.mu.Lock()
				w.above = append(w.above, above.Kind+" "+key.Name)
				w.mu.Unlock()
			}

			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if w.failList != nil {
				return w.failList
			}
			if in := (&client.ListOptions{}).ApplyOptions(opts); w.onlyIn != "" && in.Namespace != w.onlyIn {
				return kerrors.NewForbidden(schema.GroupResource{Resource: "volumes"}, "", errLost)
			}

			if err := c.List(ctx, list, opts...); err != nil || !w.paged {
				return err
			}

			return onePage(list, opts)
		},
	})
}

func (w *world) request(ctx context.Context, verb string, o client.Object, patch client.Patch) error {
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	if _, isSecret := o.(*corev1.Secret); isSecret {
		verb += " secret"
	}
	note := verb + " " + string(data)
	w.mu.Lock()
	w.requests = append(w.requests, note)
	w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.answer != nil {
		return w.answer(ctx, note)
	}

	return nil
}

// Event records an event.
func (w *world) Event(_ runtime.Object, e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// WithAnnotations notes the annotations and returns the world.
func (w *world) WithAnnotations(keysAndValues ...string) event.Recorder {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.annotated = keysAndValues

	return w
}

// atKey returns a volume that has nothing but its key.
func atKey() *volume.Volume {
	return &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}

func (w *world) create(change func(*volume.Volume)) {
	w.Helper()
	v := atKey()
	v.UID, v.Generation, v.Spec.SizeGiB = "uid-1", 1, 1
	if change != nil {
		change(v)
	}
	w.Create(v)
}

// change makes a user's change.
func (w *world) change(change func(*volume.Volume)) {
	w.Helper()
	v := atKey()
	w.Change(v, func() {
		before := v.Spec
		change(v)
		if v.Spec != before {
			v.Generation++ // the fake API server does not count
		}
	})
}

func (w *world) delete() {
	w.Helper()
	w.Delete(atKey())
}

func (w *world) get() *volume.Volume {
	w.Helper()
	v := atKey()
	w.Read(v)

	return v
}

func (w *world) gone() bool {
	w.Helper()

	return w.Gone(atKey())
}

// pass makes one pass that is expected to end without an error.
func (w *world) pass() reconcile.Result {
	w.Helper()
	result, err := w.try()
	if err != nil {
		w.Fatalf("pass: %v", err)
	}

	return result
}

func (w *world) try() (reconcile.Result, error) {
	defer w.cabinet.untouched(w.T)

	return w.r.Reconcile(w.Context(), request())
}

func request() reconcile.Request { return reconcile.Request{NamespacedName: key} }

// taken returns what happened since it was called last: requests by verb and
// subresource, calls of the cloud, and reasons of events.
func (w *world) taken() (requests, calls, events string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sent, emitted []string
	for _, r := range w.requests {
		verb, _, _ := strings.Cut(r, " {")
		sent = append(sent, verb)
	}
	for _, e := range w.events {
		emitted = append(emitted, fmt.Sprintf("%s/%s", e.Type, e.Reason))
	}
	w.requests, w.events = nil, nil
	calls = strings.Join(w.cloud.Calls(), " ")
	w.cloud.Forget()

	return strings.Join(sent, ", "), calls, strings.Join(emitted, ", ")
}

// expect compares what happened since the last call.
func (w *world) expect(requests, calls, events string) {
	w.Helper()
	gotRequests, gotCalls, gotEvents := w.taken()
	if gotRequests != requests {
		w.Errorf("requests: got %q, want %q", gotRequests, requests)
	}
	if gotCalls != calls {
		w.Errorf("calls: got %q, want %q", gotCalls, calls)
	}
	if gotEvents != events {
		w.Errorf("events: got %q, want %q", gotEvents, events)
	}
}

// condition compares a condition, given as "True/Reason".
func (w *world) condition(t commonv1.ConditionType, want string) commonv1.Condition {
	w.Helper()
	v := w.get()
	c := v.GetCondition(t)
	if got := fmt.Sprintf("%s/%s", c.Status, c.Reason); got != want {
		w.Errorf("condition %s: got %s (%s), want %s", t, got, c.Message, want)
	}
	if c.Reason != "" && c.ObservedGeneration != v.Generation {
		w.Errorf("condition %s: observed generation %d of %d", t, c.ObservedGeneration, v.Generation)
	}

	return c
}
