package sim

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// TestRelistMatchesInformer compares the events of a simulated cache with those of an informer of client-go, and the
// requests that they enqueue with those of a controller, over random lists of writes between which the watch continues,
// or breaks and is followed by a list.
func TestRelistMatchesInformer(t *testing.T) {
	reported := map[string]int{}
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			for _, line := range compareLists(t, seed) {
				reported[strings.Fields(line)[0]]++
			}
		})
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
	for _, kind := range []string{"added", "changed", "replaced", "unchanged", "deleted", "tombstone"} {
		if reported[kind] < 50 {
			t.Errorf("%d were %s: that was not compared", reported[kind], kind)
		}
	}
}

// Picky lets the comparison see what a predicate is given.
var picky = predicate.Funcs{
	DeleteFunc: func(e event.DeleteEvent) bool { return !e.DeleteStateUnknown || e.Object.GetName() == "a" },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() || e.ObjectNew.GetName() == "a"
	},
}

func compareLists(t *testing.T, seed uint64) (all []string) {
	r := rand.New(rand.NewPCG(seed, 11))
	server := apiserver.New(theScheme(), stepped{})
	api := &api{server: server}
	users := &writer{t, server.Client().As("user"), r}
	for range 3 {
		users.write()
	}
	real := toolscache.NewSharedIndexInformer(api, &bucket.Bucket{}, 10*time.Hour, toolscache.Indexers{})
	log := &eventLog{}
	if _, err := real.AddEventHandler(log); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer synctest.Wait()
	defer end()
	go real.RunWithContext(ctx)
	queued := &enqueued{}
	if err := source.Kind(informers{informer: real}, client.Object(&bucket.Bucket{}),
		&handler.EnqueueRequestForObject{},
		predicate.Predicate(picky)).Start(ctx, queued); err != nil {
		t.Fatal(err)
	}
	pass(time.Minute)
	log.lines, queued.lines = nil, nil // of the first list

	model := newCache(server, schema.GroupVersionKind(bucket.Kind), 0, 0)
	for range 12 {
		breaks := r.IntN(2) == 0
		if breaks {
			api.expire()
		}
		for range r.IntN(5) {
			users.write()
		}
		if model.broken = breaks; !breaks {
			api.tell()
		}
		pass(2 * time.Minute) // an informer lists again within a minute
		var lines, adds []string
		model.deliver(time.Now(), func(n notice) {
			lines = append(lines, noticed(n.Old, n.Object, n.Type == apiserver.Deleted, n.tombstone))
			if n.passes(picky) {
				adds = append(adds, fmt.Sprint(n.Key.Name, n.priority()))
			}
		})
		if diff := cmp.Diff(inAnyOrder(log.lines), inAnyOrder(lines)); diff != "" {
			t.Errorf("events differ (-real, +model):\n%s", diff)
		}
		if diff := cmp.Diff(inAnyOrder(queued.lines), inAnyOrder(adds)); diff != "" {
			t.Errorf("what is enqueued differs (-real, +model):\n%s", diff)
		}
		all = append(all, lines...)
		log.lines, queued.lines = nil, nil
	}

	return all
}

// TestBookmarksAreNotSeen checks that an informer calls no handler for a bookmark, and resumes from its version when
// its watch ends; and no code of this module asks an informer for the version that it has read.
func TestBookmarksAreNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &api{server: apiserver.New(theScheme(), stepped{})}
		(&writer{t, api.server.Client().As("user"), rand.New(rand.NewPCG(1, 2))}).write()
		ctx, end := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer end()
		log := &eventLog{}
		real := toolscache.NewSharedIndexInformer(api, &bucket.Bucket{}, 10*time.Hour, toolscache.Indexers{})
		if _, err := real.AddEventHandler(log); err != nil {
			t.Fatal(err)
		}
		go real.RunWithContext(ctx)
		pass(time.Minute)
		if len(log.lines) != 1 {
			t.Fatalf("the first list was reported as %v", log.lines)
		}
		api.watch.Action(watch.Bookmark, &bucket.Bucket{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "77"}})
		pass(time.Minute)
		api.watch.Stop()
		pass(time.Minute)
		if len(log.lines) != 1 || api.from != "77" || api.lists != 1 {
			t.Errorf("after a bookmark, and another watch, from %q and after %d lists, it reported %v", api.from,
				api.lists,
				log.lines)
		}
	})
	asks := regexp.MustCompile(`\.Last(Store)?SyncResourceVersion\(`)
	err := filepath.WalkDir("../..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if asks.Match(text) {
			t.Errorf("%s asks an informer for its version: the simulator has to have bookmarks then", file)
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// pass lets time pass, and all others do what they have to.
func pass(d time.Duration) {
	wait(d)
	synctest.Wait()
}

// inAnyOrder sorts the deletions, which an informer reports in any order.
func inAnyOrder(lines []string) []string {
	gone := 0
	for gone < len(lines) && strings.HasPrefix(lines[gone], "tombstone") {
		gone++
	}
	slices.Sort(lines[:gone])

	return lines
}

func noticed(old, now client.Object, deleted, tombstone bool) string {
	what := "changed"
	switch {
	case tombstone:
		what = "tombstone"
	case deleted:
		what = "deleted"
	case old == nil:
		what = "added"
	case old.GetUID() != now.GetUID():
		what = "replaced"
	case old.GetResourceVersion() == now.GetResourceVersion():
		what = "unchanged"
	}
	line := fmt.Sprintf("%s %s %s@%s", what, now.GetName(), now.GetUID(), now.GetResourceVersion())
	if old != nil && !deleted {
		line += fmt.Sprintf(" from %s@%s", old.GetUID(), old.GetResourceVersion())
	}

	return line
}

// An eventLog records the events of an informer.
type eventLog struct{ lines []string }

func (l *eventLog) OnAdd(o any, _ bool) {
	l.lines = append(l.lines, noticed(nil, o.(client.Object), false, false))
}

func (l *eventLog) OnUpdate(old, now any) {
	l.lines = append(l.lines, noticed(old.(client.Object), now.(client.Object), false, false))
}

func (l *eventLog) OnDelete(o any) {
	unknown, tombstone := o.(toolscache.DeletedFinalStateUnknown)
	if tombstone {
		o = unknown.Obj
	}
	l.lines = append(l.lines, noticed(nil, o.(client.Object), true, tombstone))
}

// An enqueued records the requests that a controller enqueues.
type enqueued struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	lines []string
}

func (q *enqueued) Add(r reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, r) }

func (q *enqueued) AddWithOpts(o priorityqueue.AddOpts, rs ...reconcile.Request) {
	priority := 0
	if o.Priority != nil {
		priority = *o.Priority
	}
	for _, r := range rs {
		q.lines = append(q.lines, fmt.Sprint(r.Name, priority))
	}
}

// An informers is a cache that has one informer.
type informers struct {
	crcache.Cache

	informer crcache.Informer
}

func (i informers) GetInformer(context.Context, client.Object, ...crcache.InformerGetOption) (crcache.Informer, error) {
	return i.informer, nil
}

func (i informers) WaitForCacheSync(context.Context) bool { return true }

// A writer writes objects of three names at random.
type writer struct {
	t  *testing.T
	to client.Client
	r  *rand.Rand
}

func (w *writer) write() {
	w.t.Helper()
	ctx, b := w.t.Context(), newBucket(string(rune('a'+w.r.IntN(3))))
	err := w.to.Create(ctx, b)
	switch {
	case err == nil:
		return
	case w.r.IntN(2) == 0:
		err = w.to.Delete(ctx, b)
	default:
		err = w.to.Patch(ctx, b, client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"size":%d}}`, w.r.Int64())))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// An api is the server of an informer. Its watch sends the events that a test gives it.
type api struct {
	server *apiserver.Server
	watch  *watch.RaceFreeFakeWatcher
	sent   int
	lists  int
	from   string // the version of the last watch
}

func (*api) IsWatchListSemanticsUnSupported() bool { return true }

func (a *api) List(metav1.ListOptions) (runtime.Object, error) {
	list := &bucket.List{}
	err := a.server.Client().List(context.Background(), list)
	slices.SortFunc(list.Items, func(a, b bucket.Bucket) int { return strings.Compare(a.Name, b.Name) })
	a.sent = len(a.server.Changes(0))
	a.lists++
	list.ResourceVersion = strconv.Itoa(a.sent)

	return list, err
}

func (a *api) Watch(o metav1.ListOptions) (watch.Interface, error) {
	a.watch, a.from = watch.NewRaceFreeFake(), o.ResourceVersion

	return a.watch, nil
}

// tell sends all changes since the list, or since its last call.
func (a *api) tell() {
	for _, c := range a.server.Changes(a.sent) {
		a.watch.Action(watch.EventType(c.Type), c.Object.DeepCopyObject())
		a.sent++
	}
}

// expire breaks the watch as a server does that cannot go on from the version of its client.
func (a *api) expire() {
	a.watch.Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired})
}
