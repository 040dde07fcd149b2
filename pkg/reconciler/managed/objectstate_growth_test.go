package managed_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// manyObjects are how many come and go in TestNothingGrowsWithObjects: what is kept of each shows with a few thousand.
var manyObjects = flag.Int("objects", 10_000, "how many objects come and go")

// A growthWorld is a reconciler with everything switched on that may remember an
// object, and what is outside of it.
type growthWorld struct {
	*testing.T

	server   *memoryServer
	cache    *laggingCache
	clock    *testclock.FakePassiveClock
	registry *prometheus.Registry
	r        *managed.Reconciler
	handler  reconcile.Reconciler

	mu         sync.Mutex
	existing   map[types.UID]bool // what exists outside
	lists      int
	to         managed.ExternalNotifications
	subscribed int
}

func newGrowthWorld(t *testing.T, o ...managed.ReconcilerOption) *growthWorld {
	t.Helper()
	f := &growthWorld{
		T: t, server: newMemoryServer(), clock: testclock.NewFakePassiveClock(moment),
		registry: prometheus.NewRegistry(),
		existing: map[types.UID]bool{},
	}
	f.cache = &laggingCache{memoryServer: f.server, shown: map[client.ObjectKey]*lateShow{}}
	m := &fake.Manager{Client: f.cache, Scheme: fake.SchemeWith(&fullResource{})}
	options := append([]managed.ReconcilerOption{
		managed.WithCluster(reader{m, f.server}),
		managed.WithExternalConnecter(managed.ExternalConnectorFn(func(context.Context,
			resource.Managed) (managed.ExternalClient, error) {
			return listingClient{managed.ExternalClientFns{
				ObserveFn: f.observe, CreateFn: f.create, UpdateFn: answers(nil), DeleteFn: f.delete,
			}, f}, nil
		})),
		managed.WithClock(f.clock), managed.WithMetricsRegisterer(f.registry), managed.WithKstatusConditions(),
		managed.WithCreationGracePeriod(0), managed.WithExternalEvents(f, time.Hour),
		managed.WithRecorder(event.NewThrottledRecorder(event.NewNopRecorder(), event.WithClock(f.clock))),
		managed.WithInitializers(managed.InitializerFn(func(context.Context, resource.Managed) error { return nil })),
		managed.WithConnectionPublisher(managed.ConnectionPublisherFn(
			func(context.Context, resource.Managed, managed.ConnectionDetails) (bool, error) { return true, nil })),
	}, o...)
	f.r = managed.NewReconciler(m, resource.ManagedKind(fake.GVK(&fullResource{})), options...)
	f.server.put(&fullResource{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "source", UID: "source"}})
	f.handler = ratelimiter.New("fleet", f.r, ratelimiter.NewGlobal(1<<30))

	return f
}

// A laggingCache is the server as a cache shows it: an object with the label "lags" is
// shown as it was before, as often as the label says, whenever it has changed.
type laggingCache struct {
	*memoryServer

	seen  sync.Mutex
	shown map[client.ObjectKey]*lateShow
}

// A lateShow is what is shown of an object that lags.
type lateShow struct {
	now, before resource.Managed
	left        int // how often it is shown as it was before
}

func (c *laggingCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if before := c.stale(key, c.get(key)); before != nil {
		become(o, before)

		return nil
	}

	return c.memoryServer.Get(ctx, key, o)
}

// stale returns what an object was like, if that is shown once more.
func (c *laggingCache) stale(key client.ObjectKey, now resource.Managed) resource.Managed {
	c.seen.Lock()
	defer c.seen.Unlock()
	s := c.shown[key]
	if s == nil && (now == nil || now.GetLabels()["lags"] == "") {
		return nil
	}
	if s == nil {
		s = &lateShow{now: now}
		c.shown[key] = s
	}
	if s.now != now {
		s.before, s.now = s.now, now
		s.left, _ = strconv.Atoi(s.before.GetLabels()["lags"])
	}
	if s.left > 0 {
		s.left--

		return s.before
	}
	if now == nil {
		delete(c.shown, key)
	}

	return nil
}

// shows says whether something is shown late.
func (c *laggingCache) shows(key client.ObjectKey) bool {
	c.seen.Lock()
	defer c.seen.Unlock()

	return c.shown[key] != nil
}

// A listingClient lists the external resources that exist.
type listingClient struct {
	managed.ExternalClientFns

	world *growthWorld
}

func (l listingClient) ListPage(context.Context, string) (page managed.ExternalListPage, err error) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	l.world.lists++
	for uid := range l.world.existing {
		page.Items = append(page.Items, managed.ListedResource{ExternalName: "disk-of-object-" +
			strings.TrimPrefix(string(uid), "uid-")})
	}

	return page, nil
}

func (l listingClient) ObserveListed(ctx context.Context, mg resource.Managed,
	_ any) (managed.ExternalObservation, error) {
	return l.world.observe(ctx, mg)
}

// Subscribe subscribes to the changes of the external resources.
func (f *growthWorld) Subscribe(_ context.Context, _ resource.Managed,
	to managed.ExternalNotifications) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to, f.subscribed = to, f.subscribed+1

	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.subscribed--
	}, nil
}

// watch begins the notifications.
func (f *growthWorld) watch() {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	q.ShutDown() // it takes nothing: passes are made by hand
	if err := f.r.Notifications().Start(f.Context(), q); err != nil {
		f.Fatal(err)
	}
}

// notify notifies of a change, sometimes late.
func (f *growthWorld) notify(i int) {
	f.mu.Lock()
	to := f.to
	f.mu.Unlock()
	if to == nil {
		return
	}
	to.Changed(fmt.Sprintf("disk-of-object-%d", i), fmt.Sprintf("stranger-%d", i))
	if i%100 == 0 {
		to.Interrupted()
		to.Resumed()
	}
}

func (f *growthWorld) is(mg resource.Managed) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.existing[mg.GetUID()]
}

func (f *growthWorld) observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o := managed.ExternalObservation{ResourceExists: f.is(mg), ResourceUpToDate: mg.GetLabels()["differs"] == ""}
	if o.ResourceExists {
		mg.SetConditions(commonv1.Available())
	}
	if o.ResourceExists && mg.GetLabels()["secret"] != "" {
		o.ConnectionDetails = managed.ConnectionDetails{"password": []byte(mg.GetName())}
	}

	return o, nil
}

func (f *growthWorld) create(_ context.Context, mg resource.Managed) error {
	if mg.GetLabels()["fails"] != "" {
		return external.NotCreated(fmt.Errorf("no capacity for %s", mg.GetName()))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.existing[mg.GetUID()] = true
	meta.SetExternalName(mg, "disk-of-"+mg.GetName())

	return nil
}

func (f *growthWorld) delete(_ context.Context, mg resource.Managed) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.existing, mg.GetUID())

	return nil
}

// A life is the sequence of changes of an object: its initial state, and the changes before it is deleted, or gone
// because its finalizer was removed.
type life struct {
	made, changed func(*fullResource)
	vanishes      bool
	stillborn     bool // it is deleted before it is claimed
}

// lagging is the life of an object that a cache shows late: a little, so that it is
// waited for, or so much that the API server is asked.
func lagging(answers string) life {
	return life{made: func(v *fullResource) { v.Labels = pairs("lags", answers) }}
}

var lives = []life{
	{
		made:    func(v *fullResource) { v.Labels = pairs("fails", "yes") },
		changed: func(v *fullResource) { v.Labels = nil },
	},
	{made: func(v *fullResource) { v.Labels = pairs("differs", "yes") }},
	{made: func(v *fullResource) { v.Labels = pairs("secret", "yes") }},
	{made: func(v *fullResource) { v.Annotations = pairs(meta.AnnotationKeyPollInterval, "often, says "+v.Name) }},
	{
		made:    func(v *fullResource) { v.Annotations = pairs(meta.AnnotationKeyReconciliationPaused, "true") },
		changed: func(v *fullResource) { v.Annotations = nil },
	},
	{
		made:    func(v *fullResource) { v.Spec.Source = "source" },
		changed: func(v *fullResource) { v.Spec.Source = "missing" },
	},
	{
		made:    func(v *fullResource) { v.Spec.Policies = commonv1.ManagementPolicies{} },
		changed: func(v *fullResource) { v.Spec.Policies = nil },
	},
	{made: func(v *fullResource) { v.Annotations = pairs(meta.AnnotationKeyReconcileRequestedAt, v.Name) }},
	{vanishes: true},
	{made: func(v *fullResource) { v.Finalizers = []string{managed.UnclaimedFinalizer} }},
	{made: func(v *fullResource) { v.Finalizers = []string{managed.UnclaimedFinalizer} }, stillborn: true},
}

// live leads the life of one object, from its making to the pass that finds it
// gone.
func (f *growthWorld) live(i int, life life) {
	key := client.ObjectKey{Namespace: "apps", Name: fmt.Sprintf("object-%d", i)}
	v := &fullResource{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: types.UID(fmt.Sprintf("uid-%d", i)),
		Generation: 1,
	}}
	if life.made != nil {
		life.made(v)
	}
	if life.stillborn {
		v.SetDeletionTimestamp(&deletion)
	}
	f.server.put(v)
	f.pass(key)
	f.pass(key) // a poll
	if life.stillborn {
		f.expectGone(key)

		return
	}
	f.notify(i)
	if life.changed != nil {
		f.change(key, life.changed)
		f.pass(key)
	}
	f.change(key, func(v *fullResource) {
		v.SetDeletionTimestamp(&deletion)
		if life.vanishes {
			v.SetFinalizers(nil)
			_ = f.delete(f.Context(), v) // it never fails
		}
	})
	f.expectGone(key)
}

// expectGone makes passes over an object that is deleted, as often as a cache that lags
// makes necessary, and the one that finds it gone.
func (f *growthWorld) expectGone(key client.ObjectKey) {
	const most = 10
	f.pass(key)
	for n := 0; f.cache.shows(key) && n < most; n++ {
		f.pass(key)
	}
	if left := f.server.get(key); left != nil {
		f.Errorf("%s is still there: %+v", key, left)
	}
	f.pass(key)
}

func (f *growthWorld) change(key client.ObjectKey, change func(*fullResource)) {
	v, ok := f.server.get(key).DeepCopyObject().(*fullResource)
	if !ok {
		f.Errorf("%s is gone", key)

		return
	}
	change(v)
	v.Generation++
	f.server.put(v)
}

func (f *growthWorld) pass(key client.ObjectKey) {
	_, _ = f.handler.Reconcile(f.Context(), reconcile.Request{NamespacedName: key}) // failures are part of life
}

// weigh returns what the process holds: objects that are remembered, time series,
// goroutines, and bytes on the heap.
func (f *growthWorld) weigh() (remembered, series, goroutines int, heap uint64) {
	f.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		f.Fatal(err)
	}
	for _, family := range families {
		series += len(family.GetMetric())
	}
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)

	return f.r.Remembered(), series, runtime.NumGoroutine(), m.HeapAlloc
}

// settle waits until there are at most that many goroutines, because ending ones need time. After a while it gives
// up.
func settle(most int) {
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > most && time.Now().Before(end); {
		<-time.After(10 * time.Millisecond)
	}
}

// run lets objects come and go, from one number to another, each with the
// life that is chosen for it.
func (f *growthWorld) run(from, to int, choose func(i int) life) {
	const batch, workers = 1000, 4
	for ; from < to; from += batch {
		var group sync.WaitGroup
		for w := range workers {
			group.Go(func() {
				for i := from + w; i < min(from+batch, to); i += workers {
					f.live(i, choose(i))
				}
			})
		}
		group.Wait()
		f.clock.SetTime(f.clock.Now().Add(10 * time.Minute)) // what is only remembered for a while is forgotten
	}
}

// TestNothingGrowsWithObjects lets thousands of objects come and go: one in ten of
// them with a life of some trouble, and one in ten that refers to another.
func TestNothingGrowsWithObjects(t *testing.T) {
	choose := func(i int) life {
		switch {
		case i%1000 == 7: // they take their time
			return lagging("1")
		case i%10 == 0:
			return lives[i/10%len(lives)]
		case i%10 == 5:
			return life{made: func(v *fullResource) { v.Spec.Source = "source" }}
		default:
			return life{}
		}
	}
	limits := limit.NewSet(limit.WithRate(1e9, 1e9, 1e9))
	f := newGrowthWorld(t, managed.WithLimits(limits), managed.WithBulkObservation(0))
	f.watch()
	f.run(0, *manyObjects/5, choose)
	_, series, goroutines, heap := f.weigh()
	f.run(*manyObjects/5, *manyObjects, choose)
	settle(goroutines)
	remembered, seriesNow, goroutinesNow, heapNow := f.weigh()
	if there := metric(t, f.registry, "moorage_managed_resource_exists"); remembered != 0 || there != 0 {
		t.Errorf("%d objects are remembered and %v counted, and there are none", remembered, there)
	}
	if f.subscribed != 0 || f.lists == 0 || len(limits.States()) > 1 {
		t.Errorf("%d subscriptions are left, %d lists were made, and %d connections are limited", f.subscribed,
			f.lists, len(limits.States()))
	}
	if seriesNow != series || goroutinesNow > goroutines {
		t.Errorf("%d series and %d goroutines, were %d and %d", seriesNow, goroutinesNow, series, goroutines)
	}
	// Ten bytes for each object that came in between are less than any entry of
	// a map takes.
	if grown := int64(heapNow) - int64(heap); grown > int64(10*(*manyObjects-*manyObjects/5)) {
		t.Errorf("the heap has grown by %d bytes, from %d", grown, heap)
	}
}

// TestEveryLifeIsForgotten lets objects of every life come and go past a change
// log.
func TestEveryLifeIsForgotten(t *testing.T) {
	f := newGrowthWorld(t, managed.WithChangeLog(changelog.SinkFunc(func(context.Context,
		changelog.Entry) error {
		return nil
	})))
	all := append(slices.Clone(lives), lagging("1"), lagging("6"))
	choose := func(i int) life { return all[i%len(all)] }
	f.run(0, 50, choose)
	_, series, goroutines, _ := f.weigh()
	f.run(50, 200, choose)
	settle(goroutines)
	remembered, seriesNow, goroutinesNow, _ := f.weigh()
	if late := len(f.cache.shown); late > 0 {
		t.Errorf("%d objects are still shown that are gone", late)
	}
	if remembered != 0 || seriesNow != series || goroutinesNow > goroutines {
		t.Errorf("%d objects, %d series and %d goroutines, were 0, %d and %d", remembered, seriesNow, goroutinesNow,
			series, goroutines)
	}
	if there := metric(t, f.registry, "moorage_managed_resource_exists"); there != 0 {
		t.Errorf("%v objects are counted, and there are none", there)
	}
}
