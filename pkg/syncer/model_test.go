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

// The virtual names of the schedules. The last two have one host name.
var pool = []types.NamespacedName{
	{Namespace: "ns", Name: "a"}, {Namespace: "ns", Name: "b"}, {Namespace: "other", Name: "a"},
	{Namespace: "c", Name: "a-x-b"}, {Namespace: "b-x-c", Name: "a"},
}

func hostName(v types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: target, Name: translate.PhysicalName(v.Name, v.Namespace)}
}

// TestSchedules does everything that can happen in a random order: creates, changes,
// deletions, namesakes, foreign objects, tampering, restarts of the syncer, servers
// that are down, and another virtual cluster under the same address. At no time is
// anything foreign touched, or the image of a living object deleted; at rest the
// host holds exactly the image of the virtual side. Run one again with
// -schedule=SEED.
func TestSchedules(t *testing.T) {
	first, last := uint64(1), *seeds
	if *seed != 0 {
		first, last = *seed, *seed
	}
	deleted, begin := 0, time.Now()
	for s := first; s <= last; s++ {
		v := newVoyage(t, s, syncer.Options{})
		v.run()
		deleted += v.deleted
		if len(v.failures) > 0 {
			t.Fatalf("schedule %d; to see it alone: -schedule=%d\n%s\nafter:\n%s", s, s, strings.Join(v.failures, "\n"), strings.Join(v.log, "\n"))
		}
	}
	fmt.Printf("schedules_on_models: %d\nseconds_of_schedules_on_models: %v\n", last-first+1, time.Since(begin).Seconds())
	if deleted == 0 {
		t.Error("no schedule has deleted anything: nothing was tested")
	}
}

// TestSchedulesNotice takes one safety away at a time: some schedule must notice.
func TestSchedulesNotice(t *testing.T) {
	const (
		deleted, written = "the image of a living object is deleted", "a foreign object is written"
		takenOver        = "the image of a former object is taken over"
		mismarked        = "is not marked as"
	)
	cases := map[string]struct {
		reason  string
		options syncer.Options
		want    string
		syncer  func(*mapSyncer) syncer.Syncer // nil is the default
	}{
		"Cached":          {"A cache that believes another cluster empties the host.", syncer.Options{ConfirmAbsence: syncer.ConfirmCached}, deleted, nil},
		"Overwrite":       {"What is foreign is written.", syncer.Options{OnConflict: syncer.ConflictOverwrite}, written, nil},
		"UIDIgnore":       {"An object gets what its namesake left behind.", syncer.Options{UIDPolicy: syncer.UIDIgnore}, takenOver, nil},
		"LegacyCached":    {"Caches used to be believed.", syncer.LegacyOptions(), deleted, nil},
		"LegacyOverwrite": {"What is foreign used to be written.", syncer.LegacyOptions(), written, nil},
		"LegacyUIDIgnore": {"Namesakes used to get what was left behind.", syncer.LegacyOptions(), takenOver, nil},
		"Metadata":        {"Labels and annotations are left as they are.", syncer.Options{}, mismarked, dataAlone},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for s := uint64(1); s <= *seeds; s++ {
				v := newVoyage(t, s, tc.options)
				v.only = tc.want
				if tc.syncer != nil {
					v.syncer = tc.syncer
					v.restart()
				}
				if v.run(); len(v.failures) > 0 {
					return
				}
			}
			t.Errorf("%s No schedule has noticed.", tc.reason)
		})
	}
}

// A voyage is one schedule.
type voyage struct {
	*testing.T

	rand    *rand.Rand
	host    *modelServer
	tenant  *modelServer // the virtual cluster
	foe     *modelServer // another one under the same address
	pinned  *modelServer // the one that answered when the process began
	uids    int
	clock   *testclock.FakePassiveClock
	options syncer.Options
	syncer  func(*mapSyncer) syncer.Syncer

	manager  *modelManager // of whichever virtual cluster answers
	core     *syncer.Core
	marks    translator.MetadataTranslator // of the process that runs
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	due      map[types.NamespacedName]bool // names to look at
	later    map[types.NamespacedName]bool // names to look at some time
	foreign  map[types.UID]string          // data of what is not ours
	log      []string
	failures []string
	only     string // the failures that count; all if it is empty
	deleted  int
	edits    int
}

func newVoyage(t *testing.T, seed uint64, o syncer.Options) *voyage {
	v := &voyage{
		T: t, options: o, syncer: func(m *mapSyncer) syncer.Syncer { return m }, rand: rand.New(rand.NewPCG(seed, 7)), clock: testclock.NewFakePassiveClock(time.Unix(1e9, 0)),
		queue: newQueue(t), due: map[types.NamespacedName]bool{}, later: map[types.NamespacedName]bool{}, foreign: map[types.UID]string{},
	}
	v.host, v.tenant, v.foe = newModelServer("host", &v.uids), newModelServer("tenant", &v.uids), newModelServer("foe", &v.uids)
	v.host.written = v.guard
	if seed%2 == 0 {
		v.options.HostDeletion = syncer.BeforeVirtual
	}
	v.options.Recorder = &heard{}
	v.people()
	v.manager = newModelManager(v.tenant)
	v.restart()
	return v
}

// people gives the other cluster objects of its own: some under names that the tenant
// uses as well, and one under a name of its own.
func (v *voyage) people() {
	for _, key := range append([]types.NamespacedName{{Namespace: "ns", Name: "pirate"}}, pool...) {
		if key.Name != "pirate" && v.rand.IntN(3) == 0 {
			continue
		}
		m := &corev1.ConfigMap{ObjectMeta: metaOf(key), Data: map[string]string{"edit": "foe"}}
		if err := v.foe.Create(context.Background(), m); err != nil {
			v.Fatal(err)
		}
	}
}

func (v *voyage) note(format string, a ...any) { v.log = append(v.log, fmt.Sprintf(format, a...)) }

func (v *voyage) fail(format string, a ...any) {
	if what := fmt.Sprintf(format, a...); strings.Contains(what, v.only) {
		v.failures = append(v.failures, what)
	}
}

func (v *voyage) run() {
	for range steps {
		v.step()
		if len(v.failures) > 0 {
			return
		}
	}
	v.rest()
	v.check()
}

// step does one of the things that can happen. Passes and events happen more often.
func (v *voyage) step() {
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
		v.intrude()
	case n < 33:
		v.withdraw()
	case n < 34:
		v.tamper()
	case n < 35:
		v.snatch()
	case n < 36:
		v.restart()
	case n < 37:
		v.host.down = !v.host.down
		v.note("host down %t", v.host.down)
	case n < 38:
		v.manager.server.down = !v.manager.server.down
		v.note("tenant down %t", v.manager.server.down)
	case n < 39:
		v.swap()
	default:
		v.clock.SetTime(v.clock.Now().Add(time.Duration(v.rand.IntN(8)) * time.Second))
	}
}

func (v *voyage) pick() types.NamespacedName { return pool[v.rand.IntN(len(pool))] }

func (v *voyage) create() {
	key := v.pick()
	v.edits++
	err := v.tenant.Create(context.Background(), &corev1.ConfigMap{
		ObjectMeta: metaOf(key), Data: map[string]string{"edit": fmt.Sprint(v.edits)},
	})
	v.note("create %s: %v", key, err)
}

func (v *voyage) edit() {
	if m := v.tenant.stored(v.pick()); m != nil {
		v.edits++
		m.Data = map[string]string{"edit": fmt.Sprint(v.edits)}
		m.Annotations = map[string]string{fmt.Sprintf("note-%d", v.edits%3): "x"}
		m.Labels = map[string]string{fmt.Sprintf("sort-%d", v.edits%2): "x"}
		v.note("edit %s/%s: %v", m.Namespace, m.Name, v.tenant.Update(context.Background(), m))
	}
}

func (v *voyage) remove() {
	if m := v.tenant.stored(v.pick()); m != nil {
		v.note("delete %s/%s: %v", m.Namespace, m.Name, v.tenant.Delete(context.Background(), m))
	}
}

// intrude puts a foreign object under one of our names.
func (v *voyage) intrude() {
	key := hostName(v.pick())
	m := &corev1.ConfigMap{ObjectMeta: metaOf(key), Data: map[string]string{"whose": "mine"}}
	if v.host.stored(key) == nil && v.host.Create(context.Background(), m) == nil {
		v.foreign[m.UID] = "mine"
		v.note("intrude %s %s", key, m.UID)
	}
}

func (v *voyage) withdraw() {
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

// tamper changes an image on the host.
func (v *voyage) tamper() {
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

// snatch deletes an image on the host.
func (v *voyage) snatch() {
	m := v.host.stored(hostName(v.pick()))
	if m == nil || v.host.down {
		return
	}
	if _, foreign := v.foreign[m.UID]; !foreign {
		v.note("snatch %s: %v", m.Name, v.host.Client.Delete(context.Background(), m))
		v.host.pending = append(v.host.pending, client.ObjectKeyFromObject(m))
	}
}

// swap lets another cluster answer, or the right one again. Its cache sees what it
// sees after a relist.
func (v *voyage) swap() {
	from, to := v.manager.server, v.foe
	if from == v.foe {
		to = v.tenant
	}
	v.note("swap %s for %s", from.name, to.name)
	to.cache, from.cache = from.cache, map[types.NamespacedName]*corev1.ConfigMap{}
	v.manager.server = to
	v.manager.Client = cached{to}
	to.relist()
	if to == v.tenant && v.pinned == v.foe {
		// Whoever started it with the wrong cluster has to start it again.
		v.host.down, v.tenant.down = false, false
		v.restart()
	}
}

// restart ends the process and begins another one, whichever cluster answers.
func (v *voyage) restart() {
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

// deliver one event of a cache that is behind.
func (v *voyage) deliver() {
	servers := slices.DeleteFunc([]*modelServer{v.host, v.manager.server}, func(s *modelServer) bool { return s.down || len(s.pending) == 0 })
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
		v.core.VirtualSeen(obj, gone)
		v.due[client.ObjectKeyFromObject(obj)] = true
		return
	}
	v.core.HostSeen(obj, gone, v.queue)
	for v.queue.Len() > 0 {
		item, _ := v.queue.Get()
		v.queue.Done(item)
		v.due[item.NamespacedName] = true
	}
}

// pass looks at one name that is due, or at one that is to be looked at later.
func (v *voyage) pass() {
	from := v.due
	if len(from) == 0 {
		from = v.later
	}
	names := slices.SortedFunc(maps.Keys(from), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
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
