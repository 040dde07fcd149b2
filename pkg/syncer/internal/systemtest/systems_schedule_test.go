package systemtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/syncer"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// One schedule for each way in which hosts and virtual objects are deleted in turn.
var schedules = flag.Uint64("schedules", 2, "how many schedules to run")

const steps = 60

// TestSchedulesOnServers runs random schedules of creates, changes, deletions, name
// collisions, foreign objects, tampering, and restarts of the syncer and of both API
// servers. In the end the host contains exactly the images of the virtual objects. The
// same runs on models in package syncer, with every order of events.
func TestSchedulesOnServers(t *testing.T) {
	begin, held := time.Now(), 0
	for seed := range *schedules {
		t.Run(fmt.Sprintf("Seed%d", seed), func(t *testing.T) {
			newSchedule(t, seed).run(steps)
			held++
		})
	}
	figure("schedules_on_real_servers", held)
	figure("seconds_of_schedules", time.Since(begin).Seconds())
}

// TestLeftovers runs a schedule while the tenant has widgets of another test: the syncer
// syncs all namespaces, and the schedule converges.
func TestLeftovers(t *testing.T) {
	left := newTestSyncer(t, "left", syncer.Options{})
	left.start() // which makes the tenant serve the kind
	left.shutDown()
	b := newWidget(left.ns, "left", 12)
	if err := tenantPlane.api.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	v := newSchedule(t, 0)
	v.run(10)
	if !exists(t, tenantPlane.api, b) {
		t.Error("a schedule has deleted what is not its own")
	}
}

type schedule struct {
	*testSyncer

	rand    *rand.Rand
	pool    []types.NamespacedName
	foreign map[types.UID]string // as they are
	edits   int64
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	o := syncer.Options{MaxConcurrentReconciles: workers}
	if seed%2 == 0 {
		o.HostDeletion = syncer.BeforeVirtual
	}
	v := &schedule{
		testSyncer: newTestSyncer(t, "seeds", o), rand: rand.New(rand.NewPCG(seed, 7)), foreign: map[types.UID]string{},
		edits: 1,
	}
	twin := "b-x-" + v.ns // "a" in it has the host name of "a-x-b" in ns
	if err := tenantPlane.api.Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: twin},
	}); err != nil {
		t.Fatal(err)
	}
	v.cleanUp(twin)
	v.pool = []types.NamespacedName{
		{Namespace: v.ns, Name: "a"}, {Namespace: v.ns, Name: "b"},
		{Namespace: v.ns, Name: "a-x-b"}, {Namespace: twin, Name: "a"},
	}
	return v
}

func (v *schedule) run(steps int) {
	wait.Allow(v.T, time.Duration(steps)*time.Second)
	v.start()
	for range steps {
		v.step()
	}
	marks := translator.NewNamespacedTranslator(v.reg, "widgets", emptyWidget())
	var last string
	// What it was when time was up says more than that it was.
	v.Cleanup(func() {
		if v.Failed() {
			v.Logf("at last: %s", last)
		}
	})
	wait.Until(v.T, "the host is the image of the virtual side", func() bool {
		last = v.differs(marks)
		return last == ""
	})
	v.clear()
	v.shutDown()
}

func (v *schedule) step() {
	switch n := v.rand.IntN(40); {
	case n < 14:
		v.edits++
		v.ignore(tenantPlane.api.Create(v.Context(), v.pick(v.edits)))
	case n < 20:
		v.edits++
		v.ignore(tenantPlane.api.Patch(
			v.Context(), v.pick(0),
			merge(fmt.Sprintf(
				`{"metadata":{"labels":{"edit":"%[1]d"},"annotations":{"edit":"%[1]d"}},"spec":{"length":%[1]d}}`, v.edits))))
	case n < 28:
		v.ignore(tenantPlane.api.Delete(v.Context(), v.pick(0)))
	case n < 30:
		v.createForeign()
	case n < 32:
		v.deleteForeign()
	case n < 34:
		v.onImage(func(b *widget) error {
			return hostPlane.api.Patch(
				v.Context(), b, merge(`{"metadata":{"labels":{"stray":"x"}},"spec":{"length":1,"payload":"changed"}}`))
		})
	case n < 36:
		v.onImage(func(b *widget) error { return hostPlane.api.Delete(v.Context(), b) })
	case n < 38:
		v.shutDown()
		v.start()
	case n < 39:
		v.crash(tenantPlane)
	default:
		v.crash(hostPlane)
	}
}

// crash stops an API server, lets something happen in the other cluster, and starts it
// again.
func (v *schedule) crash(p *controlPlane) {
	v.Helper()
	if err := p.Kill(); err != nil {
		v.Fatal(err)
	}
	// Whatever becomes of this schedule, the next one needs the server.
	defer func() {
		v.Helper()
		wait.Until(v.T, "the server is back", func() bool { return p.Restart(v.Context()) == nil })
	}()
	if p == hostPlane {
		v.edits++
		v.ignore(tenantPlane.api.Create(v.Context(), v.pick(v.edits)))
		v.ignore(tenantPlane.api.Delete(v.Context(), v.pick(0)))
	} else {
		v.onImage(func(b *widget) error {
			return hostPlane.api.Patch(v.Context(), b, merge(`{"spec":{"length":2}}`))
		})
	}
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

// ignore ignores the errors of random operations on objects that exist or not.
func (v *schedule) ignore(err error) {
	v.Helper()
	if client.IgnoreNotFound(client.IgnoreAlreadyExists(err)) != nil {
		v.Fatal(err)
	}
}

// pick returns a random widget of the pool.
func (v *schedule) pick(length int64) *widget {
	key := v.pool[v.rand.IntN(len(v.pool))]
	return newWidget(key.Namespace, key.Name, length)
}

// at returns the host object with the name of a random widget's image.
func (v *schedule) at() (*widget, bool) {
	key := v.pool[v.rand.IntN(len(v.pool))]
	b := newWidget(v.target, v.hostName(key), 3)
	return b, exists(v.T, hostPlane.api, b)
}

func (v *schedule) hostName(key types.NamespacedName) string {
	return translate.Names{Suffix: v.name}.PhysicalName(key.Name, key.Namespace)
}

func (v *schedule) createForeign() {
	b, there := v.at()
	if there {
		return
	}
	v.ignore(hostPlane.api.Create(v.Context(), b))
	if b.GetUID() != "" {
		v.foreign[b.GetUID()] = text(b)
	}
}

func (v *schedule) deleteForeign() {
	if b, there := v.at(); there && v.foreign[b.GetUID()] != "" {
		v.unchanged(b)
		delete(v.foreign, b.GetUID())
		v.ignore(hostPlane.api.Delete(v.Context(), b))
	}
}

func (v *schedule) onImage(do func(*widget) error) {
	if b, there := v.at(); there && v.foreign[b.GetUID()] == "" {
		v.ignore(do(b))
	}
}

func (v *schedule) unchanged(b *widget) {
	v.Helper()
	if v.foreign[b.GetUID()] != text(b) {
		v.Errorf("a foreign object was touched: %v", b.Object)
	}
}

// differs returns how the host differs from the virtual cluster, or "".
func (v *schedule) differs(marks translator.MetadataTranslator) string {
	want := map[types.NamespacedName]widget{}
	for _, ns := range []string{v.pool[0].Namespace, v.pool[3].Namespace} {
		for _, b := range widgets(v.T, tenantPlane.api, ns) {
			want[client.ObjectKeyFromObject(&b)] = b
		}
	}
	taken := map[string]bool{}
	for _, b := range widgets(v.T, hostPlane.api, v.target) {
		taken[b.GetName()] = true
		if v.foreign[b.GetUID()] != "" {
			v.unchanged(&b)
			continue
		}
		if v.ofOtherNamespace(&b) {
			continue
		}
		a := b.GetAnnotations()
		key := types.NamespacedName{Namespace: a[translator.NamespaceAnnotation], Name: a[translator.NameAnnotation]}
		of, there := want[key]
		if !there || a[translator.UIDAnnotation] != string(of.GetUID()) || b.GetName() != v.hostName(key) ||
			!sameSpec(of, b) {
			return fmt.Sprintf("%s is no image of %s", b.GetName(), key)
		}
		if changed, annotations, labels := marks.TranslateMetadataUpdate(&of, &b); changed {
			return fmt.Sprintf(
				"%s is not marked as %s is: %v %v, want %v %v", b.GetName(), key, b.GetAnnotations(), b.GetLabels(), annotations,
				labels)
		}
	}
	for key := range want {
		if !taken[v.hostName(key)] {
			return fmt.Sprintf("%s has no image", key)
		}
	}
	return ""
}

// ofOtherNamespace reports whether a host object is the image of a widget outside of the
// schedule, because the syncer syncs all namespaces.
func (v *schedule) ofOtherNamespace(b *widget) bool {
	ours := func(key types.NamespacedName) bool {
		return b.GetName() == v.hostName(key) || b.GetLabels()[translate.NamespaceLabel] == key.Namespace
	}
	return b.GetLabels()[translate.NamespaceLabel] != "" && !slices.ContainsFunc(v.pool, ours)
}

func sameSpec(a, b widget) bool {
	x, _, _ := unstructured.NestedMap(a.Object, "spec")
	y, _, _ := unstructured.NestedMap(b.Object, "spec")
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// clear deletes all widgets of the schedule, and with them all images.
func (v *schedule) clear() {
	v.Helper()
	for _, ns := range []string{v.pool[0].Namespace, v.pool[3].Namespace} {
		deleteWidgets(v.T, tenantPlane, ns)
	}
	var left []widget
	wait.Until(v.T, "no image is left", func() bool {
		left = slices.DeleteFunc(widgets(v.T, hostPlane.api, v.target), func(b widget) bool { return v.ofOtherNamespace(&b) })
		return len(left) == len(v.foreign)
	})
	for _, b := range left {
		v.unchanged(&b)
	}
}
