package syncer_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

var (
	seed  = flag.Uint64("schedule", 0, "run the schedule of this seed only")
	seeds = flag.Uint64("schedules", 60, "how many schedules to run")
)

const steps = 150

// The virtual names of the schedules. The last two have the same host name.
var pool = []types.NamespacedName{
	{Namespace: "ns", Name: "a"}, {Namespace: "ns", Name: "b"}, {Namespace: "other", Name: "a"},
	{Namespace: "c", Name: "a-x-b"}, {Namespace: "b-x-c", Name: "a"},
}

func hostName(v types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: target, Name: translate.PhysicalName(v.Name, v.Namespace)}
}

// TestSchedules runs random schedules of creates, changes, deletions, name collisions,
// foreign objects, tampering, restarts of the syncer, outages, and another virtual
// cluster at the same address. No foreign object may be written, and no image of an
// existing object deleted; in the end the host contains exactly the images of the virtual
// objects. Run one schedule again with -schedule=SEED.
func TestSchedules(t *testing.T) {
	first, last := uint64(1), *seeds
	if *seed != 0 {
		first, last = *seed, *seed
	}
	deleted, begin := 0, time.Now()
	for s := first; s <= last; s++ {
		v := newSchedule(t, s, syncer.Options{})
		v.run()
		deleted += v.deleted
		if len(v.failures) > 0 {
			t.Fatalf(
				"schedule %d; run it with -schedule=%d\n%s\nsteps:\n%s", s, s, strings.Join(v.failures, "\n"),
				strings.Join(v.log, "\n"))
		}
	}
	fmt.Printf("schedules_on_models: %d\nseconds_of_schedules_on_models: %v\n", last-first+1, time.Since(begin).Seconds())
	if deleted == 0 {
		t.Error("no schedule has deleted an object")
	}
}

// TestSchedulesNotice turns off one safety rule at a time; some schedule must fail.
func TestSchedulesNotice(t *testing.T) {
	const (
		deleted, written = "the image of an existing object was deleted", "a foreign object was written"
		takenOver        = "the image of a former object was kept"
		mismarked        = "has other metadata than"
	)
	cases := map[string]struct {
		reason  string
		options syncer.Options
		want    string
		syncer  func(*mapSyncer) syncer.Syncer // nil is the default
	}{
		"Cached": {
			"The cache of another cluster empties the host.", syncer.Options{ConfirmAbsence: syncer.ConfirmCached}, deleted, nil,
		},
		"Overwrite": {
			"Foreign objects are written.", syncer.Options{OnConflict: syncer.ConflictOverwrite}, written, nil,
		},
		"UIDIgnore": {
			"A recreated object keeps the image of the former one.", syncer.Options{UIDPolicy: syncer.UIDIgnore}, takenOver, nil,
		},
		"LegacyCached":    {"Legacy: caches are believed.", syncer.LegacyOptions(), deleted, nil},
		"LegacyOverwrite": {"Legacy: foreign objects are written.", syncer.LegacyOptions(), written, nil},
		"LegacyUIDIgnore": {
			"Legacy: a recreated object keeps the image of the former one.", syncer.LegacyOptions(), takenOver, nil,
		},
		"Metadata": {"Labels and annotations are not updated.", syncer.Options{}, mismarked, newDataSyncer},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for s := uint64(1); s <= *seeds; s++ {
				v := newSchedule(t, s, tc.options)
				v.onlyFailure = tc.want
				if tc.syncer != nil {
					v.syncer = tc.syncer
					v.restart()
				}
				if v.run(); len(v.failures) > 0 {
					return
				}
			}
			t.Errorf("%s No schedule fails.", tc.reason)
		})
	}
}

// A schedule is one random sequence of steps.
type schedule struct {
	*testing.T

	rand    *rand.Rand
	host    *modelServer
	tenant  *modelServer // the virtual cluster
	other   *modelServer // another one under the same address
	pinned  *modelServer // the one that answered when the process began
	uids    int
	clock   *testclock.FakePassiveClock
	options syncer.Options
	syncer  func(*mapSyncer) syncer.Syncer

	manager     *modelManager // of whichever virtual cluster answers
	core        *syncer.Core
	marks       translator.MetadataTranslator // of the process that runs
	queue       workqueue.TypedRateLimitingInterface[reconcile.Request]
	due         map[types.NamespacedName]bool // names to look at
	later       map[types.NamespacedName]bool // names to look at some time
	foreign     map[types.UID]string          // data of what is not ours
	log         []string
	failures    []string
	onlyFailure string // the failures that count; all if it is empty
	deleted     int
	edits       int
}

func newSchedule(t *testing.T, seed uint64, o syncer.Options) *schedule {
	v := &schedule{
		T: t, options: o, syncer: func(m *mapSyncer) syncer.Syncer { return m }, rand: rand.New(rand.NewPCG(
			seed, 7)), clock: testclock.NewFakePassiveClock(time.Unix(1e9, 0)),
		queue: newQueue(
			t), due: map[types.NamespacedName]bool{}, later: map[types.NamespacedName]bool{}, foreign: map[types.UID]string{},
	}
	v.host, v.tenant, v.other = newModelServer("host", &v.uids), newModelServer(
		"tenant", &v.uids), newModelServer("foe", &v.uids)
	v.host.written = v.checkWrite
	if seed%2 == 0 {
		v.options.HostDeletion = syncer.BeforeVirtual
	}
	v.options.Recorder = &recordedEvents{}
	v.createOtherObjects()
	v.manager = newModelManager(v.tenant)
	v.restart()
	return v
}

// createOtherObjects creates objects in the other cluster: some with names that the
// virtual cluster uses as well, and one with a name of its own.
func (v *schedule) createOtherObjects() {
	for _, key := range append([]types.NamespacedName{{Namespace: "ns", Name: "intruder"}}, pool...) {
		if key.Name != "intruder" && v.rand.IntN(3) == 0 {
			continue
		}
		m := &corev1.ConfigMap{ObjectMeta: metaOf(key), Data: map[string]string{"edit": "foe"}}
		if err := v.other.Create(context.Background(), m); err != nil {
			v.Fatal(err)
		}
	}
}

func (v *schedule) note(format string, a ...any) { v.log = append(v.log, fmt.Sprintf(format, a...)) }

func (v *schedule) fail(format string, a ...any) {
	if what := fmt.Sprintf(format, a...); strings.Contains(what, v.onlyFailure) {
		v.failures = append(v.failures, what)
	}
}

func (v *schedule) run() {
	for range steps {
		v.step()
		if len(v.failures) > 0 {
			return
		}
	}
	v.settle()
	v.check()
}

// step performs one random step. Passes and events are more frequent.
func (v *schedule) step() {
	switch n := v.rand.IntN(40); {
	case n < 12:
		v.deliver()
	case n < 22:
		v.pass()
	case n < 25:
		v.create()
	case n < 27:
		v.edit()
	case n < 30:
		v.remove()
	case n < 32:
		v.createForeign()
	case n < 33:
		v.deleteForeign()
	case n < 34:
		v.changeImage()
	case n < 35:
		v.deleteImage()
	case n < 36:
		v.restart()
	case n < 37:
		v.host.down = !v.host.down
		v.note("host down %t", v.host.down)
	case n < 38:
		v.manager.server.down = !v.manager.server.down
		v.note("tenant down %t", v.manager.server.down)
	case n < 39:
		v.swapClusters()
	default:
		v.clock.SetTime(v.clock.Now().Add(time.Duration(v.rand.IntN(8)) * time.Second))
	}
}

func (v *schedule) pick() types.NamespacedName { return pool[v.rand.IntN(len(pool))] }

func (v *schedule) create() {
	key := v.pick()
	v.edits++
	err := v.tenant.Create(context.Background(), &corev1.ConfigMap{
		ObjectMeta: metaOf(key), Data: map[string]string{"edit": fmt.Sprint(v.edits)},
	})
	v.note("create %s: %v", key, err)
}

func (v *schedule) edit() {
	if m := v.tenant.stored(v.pick()); m != nil {
		v.edits++
		m.Data = map[string]string{"edit": fmt.Sprint(v.edits)}
		m.Annotations = map[string]string{fmt.Sprintf("note-%d", v.edits%3): "x"}
		m.Labels = map[string]string{fmt.Sprintf("sort-%d", v.edits%2): "x"}
		v.note("edit %s/%s: %v", m.Namespace, m.Name, v.tenant.Update(context.Background(), m))
	}
}

func (v *schedule) remove() {
	if m := v.tenant.stored(v.pick()); m != nil {
		v.note("delete %s/%s: %v", m.Namespace, m.Name, v.tenant.Delete(context.Background(), m))
	}
}

// createForeign creates a foreign object with the host name of a virtual object.
func (v *schedule) createForeign() {
	key := hostName(v.pick())
	m := &corev1.ConfigMap{ObjectMeta: metaOf(key), Data: map[string]string{"whose": "mine"}}
	if v.host.stored(key) == nil && v.host.Create(context.Background(), m) == nil {
		v.foreign[m.UID] = "mine"
		v.note("intrude %s %s", key, m.UID)
	}
}

func (v *schedule) deleteForeign() {
	m := v.host.stored(hostName(v.pick()))
	if m == nil {
		return
	}
	if _, foreign := v.foreign[m.UID]; foreign && !v.host.down {
		delete(v.foreign, m.UID)
		v.note("withdraw %s: %v", m.Name, v.host.Client.Delete(context.Background(), m))
		v.host.pending = append(v.host.pending, client.ObjectKeyFromObject(m))
	}
}

// changeImage changes an image on the host.
func (v *schedule) changeImage() {
	m := v.host.stored(hostName(v.pick()))
	if m == nil || v.host.down {
		return
	}
	if _, foreign := v.foreign[m.UID]; !foreign {
		m.Data = map[string]string{"edit": "forged", "more": "x"}
		m.Labels["stray"] = "x"
		v.note("tamper %s: %v", m.Name, v.host.Update(context.Background(), m))
	}
}

// deleteImage deletes an image on the host.
func (v *schedule) deleteImage() {
	m := v.host.stored(hostName(v.pick()))
	if m == nil || v.host.down {
		return
	}
	if _, foreign := v.foreign[m.UID]; !foreign {
		v.note("delete the image %s: %v", m.Name, v.host.Client.Delete(context.Background(), m))
		v.host.pending = append(v.host.pending, client.ObjectKeyFromObject(m))
	}
}

// swapClusters makes the other cluster answer, or the original one again. The cache sees
// the differences as after a relist.
func (v *schedule) swapClusters() {
	from, to := v.manager.server, v.other
	if from == v.other {
		to = v.tenant
	}
	v.note("swap %s for %s", from.name, to.name)
	to.cache, from.cache = from.cache, map[types.NamespacedName]*corev1.ConfigMap{}
	v.manager.server = to
	v.manager.Client = cachedClient{to}
	to.relist()
	if to == v.tenant && v.pinned == v.other {
		// A process that was started with the other cluster must be restarted.
		v.host.down, v.tenant.down = false, false
		v.restart()
	}
}

// restart restarts the process with the cluster that answers.
func (v *schedule) restart() {
	s := v.manager.server
	if s.down || v.host.down {
		return
	}
	v.note("restart with %s", s.name)
	v.pinned = s
	cluster := &corev1.Namespace{}
	if err := s.Get(context.Background(), client.ObjectKeyFromObject(kubeSystem("")), cluster); err != nil {
		v.Fatal(err)
	}
	v.host.cache, s.cache = map[types.NamespacedName]*corev1.ConfigMap{}, map[types.NamespacedName]*corev1.ConfigMap{}
	v.due, v.later = map[types.NamespacedName]bool{}, map[types.NamespacedName]bool{}
	reg := &synccontext.RegisterContext{
		Context: v.Context(), TargetNamespace: target, CurrentNamespace: target,
		VirtualManager: v.manager, PhysicalManager: newModelManager(v.host),
		Names: &translate.Names{Suffix: translate.Suffix, Cluster: string(cluster.UID)},
	}
	m := &mapSyncer{NamespacedTranslator: translator.NewNamespacedTranslator(reg, "configmaps", &corev1.ConfigMap{})}
	v.marks = m
	var err error
	if v.core, err = syncer.NewCore(reg, v.syncer(m), v.options, v.clock); err != nil {
		v.Fatal(err)
	}
	// Controllers start when both caches are filled.
	v.host.relist()
	s.relist()
	for len(v.host.pending)+len(s.pending) > 0 {
		v.deliver()
	}
}

// deliver delivers one pending event of a cache.
func (v *schedule) deliver() {
	servers := slices.DeleteFunc([]*modelServer{v.host, v.manager.server}, func(s *modelServer) bool {
		return s.down ||
			len(s.pending) == 0
	})
	if len(servers) == 0 {
		return
	}
	s := servers[v.rand.IntN(len(servers))]
	obj, gone := s.deliver()
	if obj == nil {
		return // it was there and gone again
	}
	v.note("%s shows %s/%s gone %t", s.name, obj.Namespace, obj.Name, gone)
	if s != v.host {
		v.core.HandleVirtualEvent(obj, gone)
		v.due[client.ObjectKeyFromObject(obj)] = true
		return
	}
	v.core.HandleHostEvent(obj, gone, v.queue)
	for v.queue.Len() > 0 {
		item, _ := v.queue.Get()
		v.queue.Done(item)
		v.due[item.NamespacedName] = true
	}
}

// pass runs a pass for a name that is due, or else for one that was requeued.
func (v *schedule) pass() {
	from := v.due
	if len(from) == 0 {
		from = v.later
	}
	names := slices.SortedFunc(maps.Keys(from), func(a, b types.NamespacedName) int {
		return strings.Compare(a.String(), b.String())
	})
	if len(names) == 0 {
		return
	}
	name := names[v.rand.IntN(len(names))]
	delete(from, name)
	result, err := v.core.Reconcile(v.Context(), ctrl.Request{NamespacedName: name})
	v.note("pass %s: %v %v", name, result, err)
	if err != nil || result != (ctrl.Result{}) {
		v.later[name] = true
	}
}
