package trials

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A class is the way in which an external system prevents a second creation.
type class struct {
	name    string
	cloud   func() *volume.Cloud
	options []managed.ReconcilerOption
}

var (
	opaque   = class{name: "opaque", cloud: func() *volume.Cloud { return &volume.Cloud{} }}
	findable = class{name: "findable", cloud: func() *volume.Cloud { return &volume.Cloud{Window: 10 * time.Second} }}
	token    = class{
		name: "token", cloud: func() *volume.Cloud { return &volume.Cloud{Tokens: true} },
		options: []managed.ReconcilerOption{managed.WithCreationTokens()},
	}
	named = class{
		name: "named", cloud: func() *volume.Cloud { return &volume.Cloud{Named: true} },
		options: []managed.ReconcilerOption{managed.WithDeterministicExternalName(true)},
	}

	// Assigned are the classes whose names the external system assigns.
	assigned = []class{opaque, findable, token}
	classes  = []class{opaque, findable, token, named}
)

// each runs a story for each class, in a bubble whose clock is virtual.
func each(t *testing.T, of []class, story func(w *world)) {
	t.Helper()
	for _, c := range of {
		t.Run(c.name, func(t *testing.T) { in(t, c, story) })
	}
}

// in runs a story for one class.
func in(t *testing.T, c class, story func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { story(newWorld(t, c)) })
}

func newWorld(t *testing.T, c class) *world {
	t.Helper()
	w := &world{t: t, class: c, cloud: c.cloud(), options: c.options}
	w.plug(newStore(t))
	w.World = testworld.New[client.WithWatch](t, w.etcd)
	w.start()

	return w
}

// again returns another world of the same class.
func (w *world) again() *world {
	w.Helper()

	return newWorld(w.t, w.class)
}

// An etcd is the storage of an API server. It can be restored.
type etcd struct{ client.WithWatch }

// A write is a request of the runtime that changes an object.
type write struct {
	verb string // patch, patch status or create
	body map[string]any
}

// annotations returns the annotations that a write changes.
func (w write) annotations() map[string]any {
	metadata, _ := w.body["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)

	return annotations
}

// A world is one object, the API server it is on, the cloud behind it, and a process of
// the provider.
type world struct {
	testworld.World[client.WithWatch]

	t       *testing.T
	class   class
	cloud   *volume.Cloud
	etcd    *etcd
	options []managed.ReconcilerOption
	r       *managed.Reconciler

	writes []write
	events []event.Event

	answer func(write) error         // may answer a write instead of the API server
	admit  func(body map[string]any) // may change what a write stores
	live   func() error              // may answer a read of the API server itself
	cache  func() error              // before a read of the cache
	ends   bool                      // the process ends with this pass, and another one starts
}

var key = client.ObjectKey{Namespace: "default", Name: "data"}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{volume.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}

	return s
}

func newStore(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(volume.GroupVersion.WithKind("Volume"), apimeta.RESTScopeNamespace)

	return ctrlfake.NewClientBuilder().WithRESTMapper(mapper).WithScheme(newScheme(t)).WithObjects(objects...).
		WithStatusSubresource(&volume.Volume{}).Build()
}

// plug puts another content into the API server.
func (w *world) plug(c client.WithWatch) {
	if w.etcd == nil {
		w.etcd = &etcd{}
	}
	w.etcd.WithWatch = c
}

// A cluster has a live reader of the API server besides its cache.
type cluster struct {
	*fake.Manager

	live client.Reader
}

func (c cluster) GetAPIReader() client.Reader { return c.live }

// start starts a process, without the memory of another one.
func (w *world) start() {
	cached := interceptor.NewClient(w.etcd, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if w.cache != nil {
				if err := w.cache(); err != nil {
					return err
				}
			}

			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := w.ask(ctx, write{verb: "create"}); err != nil {
				return err
			}

			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			p, err := w.sent(ctx, "patch", o, p)
			if err != nil {
				return err
			}

			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			p, err := w.sent(ctx, "patch "+sub, o, p)
			if err != nil {
				return err
			}

			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	live := interceptor.NewClient(w.etcd, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if w.live != nil {
				if err := w.live(); err != nil {
					return err
				}
			}

			return c.Get(ctx, key, o, opts...)
		},
	})
	m := &fake.Manager{Client: cached, Scheme: w.etcd.Scheme()}
	w.r = managed.NewReconciler(m, volume.Kind, append([]managed.ReconcilerOption{
		managed.WithCluster(cluster{m, live}),
		managed.WithExternalConnecter(w.cloud),
		managed.WithRecorder(w),
		managed.WithSpreadAfterRestart(false),
	}, w.options...)...)
}

func (w *world) sent(ctx context.Context, verb string, o client.Object, p client.Patch) (client.Patch, error) {
	data, err := p.Data(o)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, err
	}
	if err := w.ask(ctx, write{verb, body}); err != nil {
		return nil, err
	}
	if w.admit == nil {
		return p, nil
	}
	w.admit(body)
	data, err = json.Marshal(body)

	return client.RawPatch(p.Type(), data), err
}

func (w *world) ask(ctx context.Context, r write) error {
	w.writes = append(w.writes, r)
	if err := ctx.Err(); err != nil || w.answer == nil {
		return err
	}

	return w.answer(r)
}

// Event records an event.
func (w *world) Event(_ runtime.Object, e event.Event) { w.events = append(w.events, e) }

// WithAnnotations returns the world.
func (w *world) WithAnnotations(...string) event.Recorder { return w }

// pass makes one pass, and returns a panic as an error, as controller-runtime does.
func (w *world) pass() (result reconcile.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v [recovered]", p)
		}
		if w.ends {
			w.ends = false
			w.start()
		}
	}()

	return w.r.Reconcile(w.Context(), reconcile.Request{NamespacedName: key})
}

// run makes passes for a while, when the queue would, and ends early with one that does not
// requeue. It returns their number.
func (w *world) run(d time.Duration) (passes int) {
	pause := time.Second
	for end := time.Now().Add(d); time.Now().Before(end); {
		result, err := w.pass()
		passes++
		switch {
		case err != nil || result.Requeue: //nolint:staticcheck // conflicts are answered so
			wait(pause)
			pause = min(2*pause, time.Minute)
		case result.RequeueAfter > 0:
			wait(result.RequeueAfter)
			pause = time.Second
		default:
			return passes
		}
	}

	return passes
}

// wait waits, by the clock of the bubble.
func wait(d time.Duration) { <-time.After(d) }

func (w *world) create(change ...func(*volume.Volume)) {
	w.Helper()
	v := atKey()
	v.UID, v.Generation, v.Spec.SizeGiB = "uid-1", 1, 1
	for _, c := range change {
		c(v)
	}
	w.Create(v)
}

// ready creates the object, and waits until it is ready.
func (w *world) ready() {
	w.Helper()
	w.create()
	w.run(time.Minute)
	w.isReady()
	if n := len(w.cloud.Disks()); n != 1 {
		w.Fatalf("the story begins with one external resource, not %d", n)
	}
}

// isReady checks that the object is ready, and has the only external resource.
func (w *world) isReady() {
	w.Helper()
	v, disks := w.get(), w.cloud.Disks()
	ready, synced := v.GetCondition(commonv1.TypeReady), v.GetCondition(commonv1.TypeSynced)
	if ready.Status != metav1.ConditionTrue || synced.Status != metav1.ConditionTrue {
		w.Errorf("the object is not ready: Ready %s (%s), Synced %s (%s %s)", ready.Status, ready.Reason,
			synced.Status, synced.Reason, synced.Message)
	}
	name := v.GetAnnotations()["krateo.io/external-name"]
	if len(disks) != 1 || disks[0].ID != name {
		w.Errorf("the object has the name %q; there are %d external resources, first of all %s", name, len(disks),
			ids(disks))
	}
}

// loseCreate loses the answer of the first Create, and the name with it, after a call of
// meanwhile.
func (w *world) loseCreate(meanwhile func()) {
	lost := false
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		if call != "Create" || lost {
			return nil
		}
		lost = true
		meanwhile()
		meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)

		return errLost
	}
}

// single checks that there is one external resource.
func (w *world) single() {
	w.Helper()
	if disks := w.cloud.Disks(); len(disks) != 1 {
		w.Errorf("there are %d external resources instead of one: %s", len(disks), ids(disks))
	}
}

func ids(disks []volume.Disk) []string {
	all := []string{}
	for _, d := range disks[:min(len(disks), 5)] {
		all = append(all, d.ID)
	}

	return all
}

// reported reports whether a condition or a Warning reports a problem.
func (w *world) reported() bool {
	w.Helper()
	if v := atKey(); w.Find(v) && v.GetCondition(commonv1.TypeSynced).Status == metav1.ConditionFalse {
		return true
	}

	return slices.ContainsFunc(w.events, func(e event.Event) bool { return e.Type == event.TypeWarning })
}

// replace does what kubectl replace does with the manifest in git: annotations of other writers
// are lost, status and finalizers stay.
func (w *world) replace() {
	w.Helper()
	v := w.get()
	v.SetAnnotations(nil)
	w.Must(w.API.Update(w.Context(), v))
}

func (w *world) get() *volume.Volume {
	w.Helper()
	v := atKey()
	w.Read(v)

	return v
}

func atKey() *volume.Volume {
	return &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}

var (
	volumes = schema.GroupResource{Group: volume.GroupVersion.Group, Resource: "volumes"}
	errLost = external.MaybeCreated(errors.New("the answer was lost"))
)

// generic404 is the answer of a load balancer, or of an API server that does not serve the
// kind: it is not about the object.
func generic404(of schema.GroupResource, name string) error {
	return kerrors.NewGenericServerResponse(http.StatusNotFound, "patch", of, name, "404 page not found", 0, true)
}

// once returns an answer that is an error for the first write that is meant, and none for the
// others.
func once(meant func(write) bool, err error) func(write) error {
	done := false

	return func(r write) error {
		if done || !meant(r) {
			return nil
		}
		done = true

		return err
	}
}
