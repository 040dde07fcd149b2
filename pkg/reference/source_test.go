package reference

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A recordingQueue records added items.
type recordingQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	mu    sync.Mutex
	added []string
}

func (q *recordingQueue) Add(r reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.added = append(q.added, r.String())
}

// taken returns the items that were added since the last call, sorted.
func (q *recordingQueue) taken() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.added
	q.added = nil
	slices.Sort(out)

	return out
}

// A rankingQueue is a priority queue that remembers the priorities.
type rankingQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	added []string
}

func (q *rankingQueue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	q.added = append(q.added, fmt.Sprint(items, " ", *o.Priority))
}

// A portCache is a cache of disks with a real informer over an API server in memory.
type portCache struct {
	informertest.FakeInformers

	ctx      context.Context //nolint:containedctx // All informers end with it.
	mu       sync.Mutex
	failures int
	asked    []string
	end      context.CancelFunc // of the informer
	disks    *countingInformer
	running  sync.WaitGroup // informers
	server   *cachetesting.FakeControllerSource
}

// A countingInformer counts its handlers.
type countingInformer struct {
	toolscache.SharedIndexInformer
	mu       sync.Mutex
	handlers int
}

func (i *countingInformer) AddEventHandler(
	h toolscache.ResourceEventHandler,
) (toolscache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers++

	return i.SharedIndexInformer.AddEventHandler(h)
}

func (i *countingInformer) RemoveEventHandler(r toolscache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers--

	return i.SharedIndexInformer.RemoveEventHandler(r)
}

// newPortCache returns a cache whose informers run until the context ends. The server ends after
// them: it never answers again, and an informer that is about to watch would wait for ever.
func newPortCache(ctx context.Context) *portCache {
	c := &portCache{ctx: ctx, server: cachetesting.NewFakeControllerSource()}
	context.AfterFunc(ctx, func() {
		c.running.Wait()
		c.server.Shutdown()
	})
	c.replace()

	return c
}

// replace ends the informer, as when its kind is removed from the cache, and returns
// it. The next call gets another one.
func (c *portCache) replace() *countingInformer {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.disks
	if old != nil {
		c.end()
	}
	informer := &countingInformer{SharedIndexInformer: toolscache.NewSharedIndexInformer(c.server, &Disk{}, 0,
		toolscache.Indexers{})}
	c.disks = informer
	ctx, end := context.WithCancel(c.ctx)
	c.end = end
	c.running.Go(func() { informer.RunWithContext(ctx) })

	return old
}

func (c *portCache) fail(times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = times
}

func (c *portCache) GetInformer(_ context.Context, o client.Object,
	_ ...cache.InformerGetOption) (cache.Informer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, fmt.Sprintf("%T", o))
	if c.failures > 0 {
		c.failures--

		return nil, errors.New("boom")
	}
	if _, ok := o.(*Disk); !ok {
		return nil, errors.Errorf("there is no informer for %T", o)
	}

	return c.disks, nil
}

// bubble runs a test in which all goroutines have to end when its context does.
func bubble(t *testing.T, test func(t *testing.T, ctx context.Context, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		test(t, ctx, func() { cancel(); synctest.Wait() })
	})
}

func readDisk(t *testing.T, r client.Reader, name string) {
	t.Helper()
	if err := client.IgnoreNotFound(r.Get(context.Background(), types.NamespacedName{Namespace: "a", Name: name},
		&Disk{})); err != nil {
		t.Fatal(err)
	}
}

// TestSource: an owner is enqueued by a real informer, from before the controller starts until after it has stopped.
func TestSource(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context, _ func()) {
		c := newPortCache(ctx)
		c.server.Add(disk("a", "old"))
		w := newWorld()
		tr := NewTracker(testScheme())
		q := &recordingQueue{}
		step := func(reason string, want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, q.taken()); diff != "" {
				t.Errorf("%s\nadded to the queue: -want, +got:\n%s", reason, diff)
			}
		}

		rec := tr.Reader(instanceKey, w)
		readDisk(t, rec, "b")
		rec.Done(nil)
		step("Nothing is watched before the start.")
		if len(c.asked) > 0 {
			t.Errorf("want no informer before the start, got %v", c.asked)
		}

		running, stop := context.WithCancel(ctx)
		if err := tr.Source(c).Start(running, q); err != nil {
			t.Fatal(err)
		}
		step("Nobody reads what was there before.")

		b := disk("a", "b")
		c.server.Add(b)
		step("What it waits for appears.", "a/instance")
		c.server.Add(disk("a", "c"))
		step("What nobody reads appears.")

		rec = tr.Reader(instanceKey, w)
		readDisk(t, rec, "c")
		readDisk(t, rec, "b")
		rec.Done(nil)
		c.server.Modify(disk("a", "b", external("main")))
		step("What it read changes.", "a/instance")
		c.server.Delete(disk("a", "c"))
		step("What it read goes.", "a/instance")
		if diff := cmp.Diff([]string{"*reference.Disk"}, c.asked); diff != "" {
			t.Errorf("one informer serves all reads of a kind: -want, +got:\n%s", diff)
		}

		stop()
		step("The controller stops.")
		c.server.Modify(disk("a", "b", external("other")))
		step("Then nobody is woken any more.")
		if c.disks.handlers != 0 || len(tr.sources) != 0 {
			t.Errorf("want nothing left at the cache, got %d handlers, %d watches", c.disks.handlers, len(tr.sources))
		}

		again, stop := context.WithCancel(ctx)
		defer stop()
		if err := tr.Source(c).Start(again, q); err != nil {
			t.Fatal(err)
		}
		step("Started again it looks at what it missed.", "a/instance")
	})
}

// TestFirstReadAfterStart: a kind is watched from its first read, in the form in which it is read.
func TestFirstReadAfterStart(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context, stop func()) {
		c := &informertest.FakeInformers{Scheme: testScheme()}
		tr := NewTracker(testScheme())
		q := &recordingQueue{}
		if err := tr.Source(c).Start(ctx, q); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(c.InformersByGVK) > 0 {
			t.Errorf("want no informer before the first read, got %v", c.InformersByGVK)
		}

		u := &unstructured.UnstructuredList{}
		u.SetGroupVersionKind(group.WithKind("DiskList"))
		rec := tr.Reader(instanceKey, newWorld())
		if err := rec.List(ctx, u, client.MatchingLabels{"zone": "east"}); err != nil {
			t.Fatal(err)
		}
		rec.Done(nil)
		synctest.Wait()

		informer, err := c.FakeInformerForKind(ctx, diskGVK)
		if err != nil {
			t.Fatal(err)
		}
		x := &unstructured.Unstructured{}
		read(disk("a", "x", labelled("zone", "east"), version("1")), diskGVK, x)
		informer.Update(x, x)
		if diff := cmp.Diff([]string(nil), q.taken()); diff != "" {
			t.Errorf("A resync has nothing to tell: -want, +got:\n%s", diff)
		}
		y := x.DeepCopy()
		y.SetResourceVersion("2")
		informer.Update(x, y)
		if diff := cmp.Diff([]string{"a/instance"}, q.taken()); diff != "" {
			t.Errorf("A change of what matches wakes: -want, +got:\n%s", diff)
		}
		stop()
	})
}

// TestUnwatchable: a kind that cannot be watched is tried again, for as long as the controller runs.
func TestUnwatchable(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context, stop func()) {
		c := newPortCache(ctx)
		c.failures = 2
		tr := NewTracker(testScheme())
		q := &recordingQueue{}
		if err := tr.Source(c).Start(ctx, q); err != nil {
			t.Fatal(err)
		}
		rec := tr.Reader(instanceKey, newWorld())
		readDisk(t, rec, "b")
		rec.Done(nil)
		c.server.Add(disk("a", "b"))

		<-time.After(2 * retryInterval)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a/instance"}, q.taken()); diff != "" {
			t.Errorf("the third attempt sees what appeared meanwhile: -want, +got:\n%s", diff)
		}

		c.fail(1 << 20)
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(group.WithKind("Network"))
		if err := client.IgnoreNotFound(tr.Reader(instanceKey, newWorld()).Get(ctx, instanceKey, u)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stop() // The bubble fails if an attempt outlives the controller.
	})
}

func TestStartWithoutCache(t *testing.T) {
	if err := NewTracker(testScheme()).Source(nil).Start(context.Background(), &recordingQueue{}); err == nil {
		t.Error("want an error")
	}
}

func TestPriorities(t *testing.T) {
	tr := NewTracker(testScheme())
	readDisk(t, tr.Reader(instanceKey, newWorld()), "b")
	q := &rankingQueue{}
	e := &eventHandler{tracker: tr, queue: q, gvk: diskGVK}

	e.OnAdd(disk("a", "b", version("1")), true)
	e.OnAdd(disk("a", "b", version("2")), false)
	e.OnUpdate(disk("a", "b", version("2")), disk("a", "b", version("3")))
	e.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "a/b", Obj: disk("a", "b", version("3"))})
	e.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "a/b"})
	e.OnAdd("no object", false)
	e.OnUpdate("no object", disk("a", "b"))
	e.OnUpdate(disk("a", "b"), nil)

	want := []string{"[a/instance] -100", "[a/instance] -10", "[a/instance] -10", "[a/instance] -10"}
	if diff := cmp.Diff(want, q.added); diff != "" {
		t.Errorf("behind users, before polls; what a watch begins with last: -want, +got:\n%s", diff)
	}
}

// TestController: an instance refers to a disk that does not exist. Without a poll it has its name as soon as there is
// one.
func TestController(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context, stop func()) {
		c := newPortCache(ctx)
		w := newWorld()
		tr := NewTracker(testScheme())
		results := make(chan string, 10)

		ctrl, err := controller.NewUnmanaged("instances", controller.Options{
			SkipNameValidation: new(true),
			Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				rec := tr.Reader(r.NamespacedName, w)
				rsp, err := NewAPIResolver(rec, instance(r.Namespace, r.Name)).Resolve(ctx,
					ResolutionRequest{Reference: ref("b", nil), To: toDisk})
				rec.Done(err)
				results <- string(ReasonOf(err)) + rsp.ResolvedValue

				return reconcile.Result{}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := ctrl.Watch(tr.Source(c)); err != nil {
			t.Fatal(err)
		}
		readDisk(t, tr.Reader(instanceKey, w), "b") // What a pass before a restart left.
		ended := make(chan error, 1)
		go func() { ended <- ctrl.Start(ctx) }()
		synctest.Wait()

		for _, s := range []struct {
			disk *Disk
			want string
		}{
			{disk("a", "b", version("1")), string(ReasonNoValue)},
			{disk("a", "b", version("2"), external("main")), "main"},
		} {
			w.put(s.disk)
			c.server.Modify(s.disk)
			if got := <-results; got != s.want {
				t.Errorf("disk at version %s: want %q, got %q", s.disk.ResourceVersion, s.want, got)
			}
		}
		synctest.Wait()
		if len(results) > 0 {
			t.Errorf("want no further pass, got one that results %q", <-results)
		}

		stop()
		if err := <-ended; err != nil {
			t.Errorf("the controller ended with %v", err)
		}
	})
}
