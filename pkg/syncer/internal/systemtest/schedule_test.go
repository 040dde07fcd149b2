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

// TestSchedulesOnServers does in a random order what can happen to two clusters: creates,
// changes, deletions, namesakes, foreign objects, tampering, and restarts of the
// syncer and of either API server. At rest the host holds exactly the image of the
// virtual side. The package syncer has the same on models, where every order of
// events can be had.
func TestSchedulesOnServers(t *testing.T) {
	begin, held := time.Now(), 0
	for seed := range *schedules {
		t.Run(fmt.Sprintf("Seed%d", seed), func(t *testing.T) {
			newVoyage(t, seed).run(steps)
			held++
		})
	}
	figure("schedules_on_real_servers", held)
	figure("seconds_of_schedules", time.Since(begin).Seconds())
}

// TestLeftovers does what a schedule does while the tenant has boats that a test has left
// behind in a namespace of its own: the syncer syncs tenants whole, so their images come
// into every target namespace, and the schedule converges all the same.
func TestLeftovers(t *testing.T) {
	left := newFleet(t, "left", syncer.Options{})
	left.sail() // which makes the tenant serve the kind
	left.moor()
	b := newBoat(left.ns, "left", 12)
	if err := tenantPlane.api.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	v := newVoyage(t, 0)
	v.run(10)
	if !exists(t, tenantPlane.api, b) {
		t.Error("a schedule has deleted what is not its own")
	}
}

type voyage struct {
	*fleet

	rand    *rand.Rand
	pool    []types.NamespacedName
	foreign map[types.UID]string // as they are
	edits   int64
}

func newVoyage(t *testing.T, seed uint64) *voyage {
	o := syncer.Options{MaxConcurrentReconciles: workers}
	if seed%2 == 0 {
		o.HostDeletion = syncer.BeforeVirtual
	}
	v := &voyage{fleet: newFleet(t, "tides", o), rand: rand.New(rand.NewPCG(seed, 7)), foreign: map[types.UID]string{}, edits: 1}
	twin := "b-x-" + v.ns // "a" in it has the host name of "a-x-b" in ns
	if err := tenantPlane.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: twin}}); err != nil {
		t.Fatal(err)
	}
	v.sweep(twin)
	v.pool = []types.NamespacedName{
		{Namespace: v.ns, Name: "a"}, {Namespace: v.ns, Name: "b"}, {Namespace: v.ns, Name: "a-x-b"}, {Namespace: twin, Name: "a"},
	}
	return v
}

func (v *voyage) run(steps int) {
	wait.Allow(v.T, time.Duration(steps)*time.Second)
	v.sail()
	for range steps {
		v.step()
	}
	marks := translator.NewNamespacedTranslator(v.reg, "boats", emptyBoat())
	var last string
	// What it was when time was up says more than that it was.
	v.Cleanup(func() {
		if v.Failed() {
			v.Logf("at last: %s", last)
		}
	})
	wait.Until(v.T, "the host is the image of the virtual side", func() bool { last = v.differs(marks); return last == "" })
	v.clear()
	v.moor()
}

func (v *voyage) step() {
	switch n := v.rand.IntN(40); {
	case n < 14:
		v.edits++
		v.ignore(tenantPlane.api.Create(v.Context(), v.pick(v.edits)))
	case n < 20:
		v.edits++
		v.ignore(tenantPlane.api.Patch(v.Context(), v.pick(0), merge(fmt.Sprintf(`{"metadata":{"labels":{"edit":"%[1]d"},"annotations":{"edit":"%[1]d"}},"spec":{"length":%[1]d}}`, v.edits))))
	case n < 28:
		v.ignore(tenantPlane.api.Delete(v.Context(), v.pick(0)))
	case n < 30:
		v.intrude()
	case n < 32:
		v.withdraw()
	case n < 34:
		v.onImage(func(b *boat) error {
			return hostPlane.api.Patch(v.Context(), b, merge(`{"metadata":{"labels":{"stray":"x"}},"spec":{"length":1,"cargo":"contraband"}}`))
		})
	case n < 36:
		v.onImage(func(b *boat) error { return hostPlane.api.Delete(v.Context(), b) })
	case n < 38:
		v.moor()
		v.sail()
	case n < 39:
		v.crash(tenantPlane)
	default:
		v.crash(hostPlane)
	}
}

// crash ends an API server for as long as something happens on the other side.
func (v *voyage) crash(p *plane) {
	v.Helper()
	if err := p.Kill(); err != nil {
		v.Fatal(err)
	}
	// Whatever becomes of this voyage: the next one needs the server.
	defer func() {
		v.Helper()
		wait.Until(v.T, "the server is back", func() bool { return p.Restart(v.Context()) == nil })
	}()
	if p == hostPlane {
		v.edits++
		v.ignore(tenantPlane.api.Create(v.Context(), v.pick(v.edits)))
		v.ignore(tenantPlane.api.Delete(v.Context(), v.pick(0)))
	} else {
		v.onImage(func(b *boat) error {
			return hostPlane.api.Patch(v.Context(), b, merge(`{"spec":{"length":2}}`))
		})
	}
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

// ignore what comes of doing things at random: objects that are there or not.
func (v *voyage) ignore(err error) {
	v.Helper()
	if client.IgnoreNotFound(client.IgnoreAlreadyExists(err)) != nil {
		v.Fatal(err)
	}
}

// pick returns a boat of the pool.
func (v *voyage) pick(length int64) *boat {
	key := v.pool[v.rand.IntN(len(v.pool))]
	return newBoat(key.Namespace, key.Name, length)
}

// at returns what is on the host where the image of a boat of the pool would be.
func (v *voyage) at() (*boat, bool) {
	key := v.pool[v.rand.IntN(len(v.pool))]
	b := newBoat(v.target, v.hostName(key), 3)
	return b, exists(v.T, hostPlane.api, b)
}

func (v *voyage) hostName(key types.NamespacedName) string {
	return translate.Names{Suffix: v.name}.PhysicalName(key.Name, key.Namespace)
}

func (v *voyage) intrude() {
	b, there := v.at()
	if there {
		return
	}
	v.ignore(hostPlane.api.Create(v.Context(), b))
	if b.GetUID() != "" {
		v.foreign[b.GetUID()] = text(b)
	}
}

func (v *voyage) withdraw() {
	if b, there := v.at(); there && v.foreign[b.GetUID()] != "" {
		v.unchanged(b)
		delete(v.foreign, b.GetUID())
		v.ignore(hostPlane.api.Delete(v.Context(), b))
	}
}

func (v *voyage) onImage(do func(*boat) error) {
	if b, there := v.at(); there && v.foreign[b.GetUID()] == "" {
		v.ignore(do(b))
	}
}

func (v *voyage) unchanged(b *boat) {
	v.Helper()
	if v.foreign[b.GetUID()] != text(b) {
		v.Errorf("a foreign object was touched: %v", b.Object)
	}
}

// differs says how the host differs from the image of the virtual side, or "".
func (v *voyage) differs(marks translator.MetadataTranslator) string {
	want := map[types.NamespacedName]boat{}
	for _, ns := range []string{v.pool[0].Namespace, v.pool[3].Namespace} {
		for _, b := range boats(v.T, tenantPlane.api, ns) {
			want[client.ObjectKeyFromObject(&b)] = b
		}
	}
	taken := map[string]bool{}
	for _, b := range boats(v.T, hostPlane.api, v.target) {
		taken[b.GetName()] = true
		if v.foreign[b.GetUID()] != "" {
			v.unchanged(&b)
			continue
		}
		if v.elsewhere(&b) {
			continue
		}
		a := b.GetAnnotations()
		key := types.NamespacedName{Namespace: a[translator.NamespaceAnnotation], Name: a[translator.NameAnnotation]}
		of, there := want[key]
		if !there || a[translator.UIDAnnotation] != string(of.GetUID()) || b.GetName() != v.hostName(key) || !sameSpec(of, b) {
			return fmt.Sprintf("%s is no image of %s", b.GetName(), key)
		}
		if changed, annotations, labels := marks.TranslateMetadataUpdate(&of, &b); changed {
			return fmt.Sprintf("%s is not marked as %s is: %v %v, want %v %v", b.GetName(), key, b.GetAnnotations(), b.GetLabels(), annotations, labels)
		}
	}
	for key := range want {
		if !taken[v.hostName(key)] {
			return fmt.Sprintf("%s has no image", key)
		}
	}
	return ""
}

// elsewhere tells whether an object of the host is the image of a boat that is none of
// this voyage: tenants are synced whole.
func (v *voyage) elsewhere(b *boat) bool {
	ours := func(key types.NamespacedName) bool {
		return b.GetName() == v.hostName(key) || b.GetLabels()[translate.NamespaceLabel] == key.Namespace
	}
	return b.GetLabels()[translate.NamespaceLabel] != "" && !slices.ContainsFunc(v.pool, ours)
}

func sameSpec(a, b boat) bool {
	x, _, _ := unstructured.NestedMap(a.Object, "spec")
	y, _, _ := unstructured.NestedMap(b.Object, "spec")
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// clear deletes all boats of the tenant, which takes all images from the host.
func (v *voyage) clear() {
	v.Helper()
	for _, ns := range []string{v.pool[0].Namespace, v.pool[3].Namespace} {
		deleteBoats(v.T, tenantPlane, ns)
	}
	var left []boat
	wait.Until(v.T, "no image is left", func() bool {
		left = slices.DeleteFunc(boats(v.T, hostPlane.api, v.target), func(b boat) bool { return v.elsewhere(&b) })
		return len(left) == len(v.foreign)
	})
	for _, b := range left {
		v.unchanged(&b)
	}
}
