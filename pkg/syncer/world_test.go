package syncer_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// The namespaces on the host and in the virtual cluster.
const (
	target = syncertesting.DefaultTestTargetNamespace
	home   = "ns"
)

// A mapSyncer synchronizes ConfigMaps: data is copied down. It records its calls.
type mapSyncer struct {
	translator.NamespacedTranslator

	reg        *synccontext.RegisterContext
	mu         sync.Mutex
	calls      []string
	managedErr error
	syncErr    error
}

func newMapSyncer(ctx *synccontext.RegisterContext) *mapSyncer {
	return &mapSyncer{
		reg: ctx, NamespacedTranslator: translator.NewNamespacedTranslator(ctx, "configmaps", &corev1.ConfigMap{}, "private"),
	}
}

func (s *mapSyncer) record(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
}

func (s *mapSyncer) setManagedErr(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.managedErr = err
}

func (s *mapSyncer) IsManaged(pObj client.Object) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.managedErr != nil {
		return false, s.managedErr
	}
	return s.NamespacedTranslator.IsManaged(pObj)
}

func (s *mapSyncer) SyncDown(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error) {
	s.record("SyncDown")
	if s.syncErr != nil {
		return ctrl.Result{}, s.syncErr
	}
	return s.SyncDownCreate(ctx, vObj, s.TranslateMetadata(vObj))
}

func (s *mapSyncer) Sync(ctx *synccontext.SyncContext, pObj, vObj client.Object) (ctrl.Result, error) {
	s.record("Sync")
	if s.syncErr != nil {
		return ctrl.Result{}, s.syncErr
	}
	updated := pObj.DeepCopyObject().(*corev1.ConfigMap)
	_, updated.Annotations, updated.Labels = s.TranslateMetadataUpdate(vObj, pObj)
	updated.Data = vObj.(*corev1.ConfigMap).Data
	return s.SyncDownUpdate(ctx, vObj, updated)
}

// An upSyncer is a mapSyncer with SyncUp.
type upSyncer struct {
	*mapSyncer

	up func(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error)
}

func (s upSyncer) SyncUp(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error) {
	s.record("SyncUp")
	if s.up == nil {
		return ctrl.Result{}, nil
	}
	return s.up(ctx, pObj)
}

// A world consists of two in-memory clusters and a syncer between them, whose passes and
// events the test triggers.
type world struct {
	testworld.World[*syncertesting.FakeIndexClient] // the virtual cluster

	p      *syncertesting.FakeIndexClient
	reg    *synccontext.RegisterContext
	syncer *mapSyncer
	core   *syncer.Core
	clock  *testclock.FakePassiveClock
	events *recordedEvents
}

type worldOptions struct {
	o        syncer.Options
	v, p     []runtime.Object
	up       func(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error)
	upSyncer bool
	cluster  string
}

func newWorld(t *testing.T, s worldOptions) *world {
	t.Helper()
	scheme := syncertesting.NewScheme()
	w := &world{
		World:  testworld.New(t, syncertesting.NewFakeClient(scheme, append(s.v, kubeSystem("first"))...)),
		events: &recordedEvents{}, clock: testclock.NewFakePassiveClock(time.Unix(1e9, 0)),
		p: syncertesting.NewFakeClient(scheme, s.p...),
	}
	w.reg = syncertesting.NewFakeRegisterContext(w.p, w.API)
	w.reg.Names = &translate.Names{Suffix: translate.Suffix, Cluster: s.cluster}
	w.syncer = newMapSyncer(w.reg)
	w.Must(w.syncer.RegisterIndices(w.reg))
	s.o.Recorder = w.events
	var what syncer.Syncer = w.syncer
	if s.upSyncer || s.up != nil {
		what = upSyncer{w.syncer, s.up}
	}
	var err error
	if w.core, err = syncer.NewCore(w.reg, what, s.o, w.clock); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) pass(name string) (ctrl.Result, error) {
	return w.core.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: home, Name: name}})
}

func (w *world) mustPass() ctrl.Result {
	w.Helper()
	result, err := w.pass("a")
	w.Must(err)
	return result
}

// host returns a host object, or nil.
func (w *world) host(name string) *corev1.ConfigMap { return w.read(w.p, target, name) }

func (w *world) read(c client.Client, namespace, name string) *corev1.ConfigMap {
	w.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if !testworld.New(w, c).Find(m) {
		return nil
	}
	return m
}

// setClusterUID makes another virtual cluster answer.
func (w *world) setClusterUID(uid types.UID) {
	w.Helper()
	w.Delete(kubeSystem(""))
	w.Create(kubeSystem(uid))
}

func kubeSystem(uid types.UID) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: uid}}
}

// virtualMap is an object of the virtual cluster, its UID made of its name.
func virtualMap(name string, change ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name, UID: types.UID("uid-of-" + name)},
		Data:       map[string]string{"key": "value"},
	}
	for _, c := range change {
		c(m)
	}
	return m
}

// imageOf returns the image of a virtual object.
func imageOf(name string, change ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: target, Name: translate.PhysicalName(name, home), UID: types.UID("image-of-" + name),
			Labels: map[string]string{translate.MarkerLabel: translate.Suffix, translate.NamespaceLabel: home},
			Annotations: map[string]string{
				translator.NameAnnotation: name, translator.NamespaceAnnotation: home, translator.UIDAnnotation: "uid-of-" + name,
			},
		},
		Data: map[string]string{"key": "value"},
	}
	for _, c := range change {
		c(m)
	}
	return m
}

// unowned removes the ownership marks of an image.
func unowned(m *corev1.ConfigMap) { m.Labels, m.Annotations = nil, nil }

func terminating(m *corev1.ConfigMap) {
	m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)}
	m.Finalizers = append(m.Finalizers, "example.org/wait")
}

func annotated(key, value string) func(*corev1.ConfigMap) {
	return func(m *corev1.ConfigMap) {
		m.Annotations = maps.Clone(m.Annotations)
		m.Annotations[key] = value
		if value == "" {
			delete(m.Annotations, key)
		}
	}
}

func metaOf(key types.NamespacedName) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
}

// recordedEvents records events.
type recordedEvents struct {
	mu     sync.Mutex
	events []string
}

func (h *recordedEvents) Event(obj runtime.Object, e event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, fmt.Sprintf("%s %s %s: %s", e.Type, e.Reason, obj.(client.Object).GetName(), e.Message))
}

func (h *recordedEvents) WithAnnotations(...string) event.Recorder { return h }

func (h *recordedEvents) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// newQueue returns a queue as a controller has it.
func newQueue(t *testing.T) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedItemBasedRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	return q
}

// enqueued empties the queue and returns its items, sorted.
func enqueued(q workqueue.TypedRateLimitingInterface[reconcile.Request]) []string {
	var out []string
	for q.Len() > 0 {
		item, _ := q.Get()
		out = append(out, item.String())
		q.Forget(item)
		q.Done(item)
	}
	slices.Sort(out)
	return out
}

type configMaps = corev1.ConfigMapList
