package providerconfig

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

func (p *fixture) wantWrites(reason string, writes ...string) {
	p.Helper()
	if diff := cmp.Diff(writes, p.writes); diff != "" {
		p.Errorf("%s: writes: -want, +got:\n%s", reason, diff)
	}
	p.writes = nil
}

func (p *fixture) wantUsers(c Config, n int64) {
	p.Helper()
	if !p.load(c) || c.GetUsers() != n {
		p.Errorf("%T %s/%s has %d users, want %d", c, c.GetNamespace(), c.GetName(), c.GetUsers(), n)
	}
}

func TestFinalizerComesFirst(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.pass(w)
	if !p.load(w) || !meta.FinalizerExists(w, FinalizerName) {
		t.Errorf("finalizers %v, want %s", w.Finalizers, FinalizerName)
	}
	p.wantWrites("a new configuration gets its finalizer and no more", "patch main")
	p.pass(w)
	p.wantWrites("steady")
}

func TestUsersAreCountedInTheRightNamespace(t *testing.T) {
	p := newFixture(t, tenant("a", "main"), tenant("b", "main"), clusterTenant("main"))
	p.use(bucket("a", "one", "", "main"))
	p.use(bucket("a", "two", "Tenant", "main"))
	p.use(bucket("b", "one", "", "main"))
	p.use(bucket("b", "two", "ClusterTenant", "main"))
	p.use(bucket("a", "three", "ClusterTenant", "main"))
	p.use(bucket("c", "one", "ClusterTenant", "main"))
	p.use(bucket("c", "lost", "Other", "main"))
	p.use(bucket("c", "none", "", ""))
	for _, c := range []Config{tenant("a", "main"), tenant("b", "main"), clusterTenant("main")} {
		p.pass(c)
	}
	p.wantUsers(tenant("a", "main"), 2)
	p.wantUsers(tenant("b", "main"), 1)
	p.wantUsers(clusterTenant("main"), 3)
}

func TestReferencesThatChange(t *testing.T) {
	p := newFixture(t, tenant("a", "main"), tenant("a", "other"), clusterTenant("main"))
	all := func() []int64 {
		t.Helper()
		p.clock.SetTime(p.clock.Now().Add(time.Minute))
		var n []int64
		for _, c := range []Config{tenant("a", "main"), tenant("a", "other"), clusterTenant("main")} {
			p.pass(c)
			p.load(c)
			n = append(n, c.GetUsers())
		}

		return n
	}
	for _, step := range []struct {
		reason string
		bucket *Bucket
		want   []int64
	}{
		{"the first", bucket("a", "one", "", "main"), []int64{1, 0, 0}},
		{"another name", bucket("a", "one", "", "other"), []int64{0, 1, 0}},
		{"another kind", bucket("a", "one", "ClusterTenant", "main"), []int64{0, 0, 1}},
		{"a kind nobody knows", bucket("a", "one", "Other", "main"), []int64{0, 0, 0}},
		{"back", bucket("a", "one", "Tenant", "main"), []int64{1, 0, 0}},
		{"none", bucket("a", "one", "", ""), []int64{0, 0, 0}},
	} {
		p.use(step.bucket)
		if diff := cmp.Diff(step.want, all()); diff != "" {
			t.Errorf("%s: users: -want, +got:\n%s", step.reason, diff)
		}
	}
	if len(p.tracker.index.configByUser)+len(p.tracker.index.usersByConfig) != 0 {
		t.Errorf("the index still holds %v", p.tracker.index.configByUser)
	}
}

// TestManyUsersFewWrites: ten thousand users that appear within a minute cost a few writes.
func TestManyUsersFewWrites(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.pass(w)
	h := p.tracker.handler(t.Context(), group.WithKind("Bucket").GroupKind())
	const users = 10_000
	for i := range users {
		h.OnAdd(bucket("a", fmt.Sprintf("bucket-%d", i), "", "main"), false)
		if i%10 == 0 {
			p.pass(w)
		}
		p.clock.SetTime(p.clock.Now().Add(time.Minute / users))
	}
	result := p.pass(w)
	if result.RequeueAfter <= 0 || result.RequeueAfter > 5*time.Second {
		t.Errorf("look again after %v, want the rest of the five seconds", result.RequeueAfter)
	}
	p.clock.SetTime(p.clock.Now().Add(result.RequeueAfter))
	p.pass(w)
	p.wantUsers(w, users)
	if n := len(p.writes); n > 1+1+12+1 {
		t.Errorf("%d writes in a minute, want one in five seconds", n)
	}
	p.writes = nil
	for range 100 {
		p.clock.SetTime(p.clock.Now().Add(time.Minute))
		p.pass(w)
	}
	p.wantWrites("steady")
}

func TestDeletionIsBlockedByUsers(t *testing.T) {
	for name, c := range map[string]Config{
		"WithConditions": tenant("a", "main"), "WithoutConditions": clusterTenant("main"),
	} {
		t.Run(name, func(t *testing.T) {
			p := newFixture(t, c.DeepCopyObject().(Config))
			kind := "Tenant"
			if name == "WithoutConditions" {
				kind = "ClusterTenant"
			}
			for _, b := range []string{"d", "b", "a", "c"} {
				p.use(bucket("a", b, kind, "main"))
			}
			p.pass(c)
			p.remove(c)
			p.writes = nil
			p.pass(c)
			if !p.load(c) {
				t.Fatal("it is gone while it is in use")
			}
			message := "Deletion waits for 4 users: Bucket a/a, Bucket a/b, Bucket a/c, ..."
			if w, ok := c.(*Tenant); ok {
				got := w.GetCondition(commonv1.TypeTerminating)
				if got.Status != "False" || got.Reason != commonv1.ReasonInUse || got.Message != message {
					t.Errorf("condition %v", got)
				}
			}
			want := []string{"Warning InUse main: " + message}
			for range 5 {
				p.clock.SetTime(p.clock.Now().Add(time.Minute))
				p.pass(c)
			}
			if diff := cmp.Diff(want, p.events); diff != "" {
				t.Errorf("one event: -want, +got:\n%s", diff)
			}
			if len(p.writes) > 1 {
				t.Errorf("writes %v, want one", p.writes)
			}
			for _, b := range []string{"a", "b", "c"} {
				p.sink(bucket("a", b, kind, "main"))
				p.pass(c)
			}
			p.clock.SetTime(p.clock.Now().Add(time.Minute))
			p.pass(c)
			p.wantUsers(c, 1)
			if w, ok := c.(*Tenant); ok && w.GetCondition(commonv1.TypeTerminating).
				Message != "Deletion waits for 1 user: Bucket a/d" {
				t.Errorf("condition %v", w.GetCondition(commonv1.TypeTerminating))
			}
			p.sink(bucket("a", "d", kind, "main"))
			p.pass(c)
			if p.load(c) {
				t.Error("it stays when nobody uses it")
			}
			if diff := cmp.Diff(want, p.events); diff != "" {
				t.Errorf("still one event: -want, +got:\n%s", diff)
			}
			p.pass(c)
			for _, r := range p.rs {
				if n := r.records.Len(); n != 0 {
					t.Errorf("the memory still holds %d configurations", n)
				}
			}
		})
	}
}

// TestDeletionIsRecordedOnce: a restart does not tell again what the condition says already.
func TestDeletionIsRecordedOnce(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.use(bucket("a", "one", "", "main"))
	p.pass(w)
	p.remove(w)
	p.pass(w)
	p.rs["Tenant"].records = records.New[record](nil)
	p.pass(w)
	p.use(bucket("a", "two", "", "main"))
	p.pass(w)
	p.wantUsers(w, 2)
	if len(p.events) != 1 {
		t.Errorf("events %v, want one", p.events)
	}
}

func TestDeletionWithoutUsers(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.pass(w)
	p.remove(w)
	p.writes = nil
	p.pass(w)
	p.wantWrites("the finalizer goes, and nothing else is said", "patch main")
	if p.load(w) || len(p.events) != 0 {
		t.Errorf("it stays, or events %v", p.events)
	}
}

// TestDeletionLooksIntoTheCache: what the index has not heard of yet is in the cache.
func TestDeletionLooksIntoTheCache(t *testing.T) {
	p := newFixture(t, tenant("a", "main"), bucket("a", "late", "", "main"), bucket("b", "other", "", "main"))
	w := tenant("a", "main")
	p.pass(w)
	p.remove(w)
	if result := p.pass(w); !p.load(w) || result.RequeueAfter != retryDelay {
		t.Errorf("it is gone, or looked at after %v", result.RequeueAfter)
	}
	if err := p.Client.Delete(t.Context(), bucket("a", "late", "", "main")); err != nil {
		t.Fatal(err)
	}
	p.pass(w)
	if p.load(w) {
		t.Error("it stays for a user in another namespace")
	}
}

func TestNothingIsDecidedBeforeAllUsersAreKnown(t *testing.T) {
	other := group.WithKind("Other")
	p := newFixture(t, tenant("a", "main"))
	p.tracker.kindSynced[other] = false
	w := tenant("a", "main")
	p.use(bucket("a", "one", "", "main"))
	if result := p.pass(w); result.RequeueAfter != retryDelay {
		t.Errorf("look again after %v, want %v", result.RequeueAfter, retryDelay)
	}
	p.wantWrites("the finalizer need not wait", "patch main")
	p.sink(bucket("a", "one", "", "main"))
	p.remove(w)
	p.pass(w)
	if !p.load(w) {
		t.Fatal("it is gone though there may be users")
	}
	p.tracker.unserved = func(gvk schema.GroupVersionKind) bool { return gvk == other }
	p.pass(w)
	if p.load(w) {
		t.Error("it stays for a kind that is not served")
	}
}

func TestConfigMadeAnew(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.use(bucket("a", "one", "", "main"))
	p.pass(w)
	// A user removes the finalizer by force, and creates an object of the same name.
	p.load(w)
	w.Finalizers = nil
	if err := p.Update(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	p.remove(w)
	anew := tenant("a", "main")
	anew.UID = "another"
	if err := p.Create(t.Context(), anew); err != nil {
		t.Fatal(err)
	}
	p.writes = nil
	p.pass(anew)
	p.wantWrites("at once: the wait belonged to the other one", "patch main", "status main")
	p.wantUsers(anew, 1)
}

func TestWritesThatFail(t *testing.T) {
	conflict := kerrors.NewConflict(schema.GroupResource{Resource: "tenants"}, "main", errors.New("changed"))
	resource := schema.GroupResource{Resource: "tenants"}
	gone, page := kerrors.NewNotFound(resource, "main"), kerrors.NewGenericServerResponse(404, "patch", resource,
		"main", "", 0, true)
	replaced := kerrors.NewInvalid(schema.GroupKind{Kind: "Tenant"}, "main", nil)
	boom := errors.New("boom: password=hunter2")
	for name, tc := range map[string]struct {
		reason  string
		err     error
		known   bool // it has its finalizer
		deleted bool // by another client, during the write
		requeue bool
		want    string
	}{
		"FinalizerConflict": {reason: "silent", err: conflict, requeue: true},
		"FinalizerGone":     {reason: "the event of its deletion comes", err: gone, deleted: true},
		"FinalizerReplaced": {reason: "so does that of the new one", err: replaced, deleted: true},
		"FinalizerLacks": {
			reason: "an answer to a write proves nothing, and a pass that ends in silence never comes back",
			err:    gone, want: `cannot update object: tenants "main" not found`,
		},
		"FinalizerInvalid": {
			reason: "the definition was tightened", err: replaced,
			want: `cannot update object: Tenant "main" is invalid`,
		},
		"FinalizerUnserved": {
			reason: "a proxy says nothing of the object", err: page,
			want: "cannot update object: the server could not find the requested resource (patch tenants main)",
		},
		"FinalizerError": {
			reason: "told, without secrets", err: boom,
			want: "cannot update object: boom: password=[REDACTED]",
		},
		"StatusConflict": {reason: "silent", err: conflict, known: true, requeue: true},
		"StatusError": {
			reason: "told, without secrets", err: boom, known: true,
			want: "cannot update the status of the ProviderConfig: boom: password=[REDACTED]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFixture(t, tenant("a", "main"))
			w := tenant("a", "main")
			if tc.known {
				p.pass(w)
			}
			p.use(bucket("a", "one", "", "main"))
			fails := true
			p.before = func() error {
				if fails && tc.deleted {
					p.remove(w)
				}
				if fails {
					return tc.err
				}

				return nil
			}
			result, err := p.try(w)
			if result.Requeue != tc.requeue { //nolint:staticcheck // It is what conflicts answer with.
				t.Errorf("%s: result %v, want Requeue %t", tc.reason, result, tc.requeue)
			}
			if got := fmt.Sprint(err); got != tc.want && (err != nil || tc.want != "") {
				t.Errorf("%s: error %v, want %v", tc.reason, got, tc.want)
			}
			fails = false
			p.pass(w)
			p.pass(w)
			if tc.deleted {
				p.wantWrites("nobody is there to protect", "patch main")

				return
			}
			p.wantUsers(w, 1)
		})
	}
}

// TestStatusIsPruned: a definition without our fields is not written to for ever.
func TestStatusIsPruned(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	p.prunes = true
	w := tenant("a", "main")
	p.use(bucket("a", "one", "", "main"))
	for range 10 {
		p.pass(w)
		p.clock.SetTime(p.clock.Now().Add(time.Minute))
	}
	p.wantWrites("once", "patch main", "status main")
}

// TestStaleRead: a cache that lags behind our own write is not acted upon.
func TestStaleRead(t *testing.T) {
	buckets := func(p *fixture, _ *Tenant) { p.use(bucket("a", "one", "", "main")) }
	cases := map[string]struct {
		finalizers []string
		first      func(p *fixture, w *Tenant) // what the first write is about
		then       func(p *fixture, w *Tenant) // what happens before the second pass
		want       string
	}{
		"Protected": {first: func(*fixture, *Tenant) {}, then: buckets, want: "patch main"},
		"Counted": {
			finalizers: []string{FinalizerName}, first: buckets,
			then: func(p *fixture, _ *Tenant) { p.use(bucket("a", "two", "", "main")) },
			want: "status main",
		},
		"Released": {
			finalizers: []string{FinalizerName}, first: func(p *fixture, w *Tenant) { p.remove(w) },
			want: "patch main",
		},
		"HeldByOthers": {
			finalizers: []string{FinalizerName, "example.org/other"},
			first:      func(p *fixture, w *Tenant) { p.remove(w) }, want: "patch main",
		},
		"ReleasedThenUsed": {
			finalizers: []string{FinalizerName, "example.org/other"},
			first:      func(p *fixture, w *Tenant) { p.remove(w) }, then: buckets, want: "patch main",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := tenant("a", "main")
			w.Finalizers = tc.finalizers
			p := newFixture(t, w)
			tc.first(p, w)
			p.load(w)
			p.pass(w)
			p.wantWrites("the first pass", tc.want)

			p.stale = w
			p.clock.SetTime(p.clock.Now().Add(time.Minute))
			if tc.then != nil {
				tc.then(p, w)
			}
			for range 3 {
				if result := p.pass(w); result.RequeueAfter != retryDelay {
					t.Errorf("look again after %v, want %v", result.RequeueAfter, retryDelay)
				}
			}
			p.wantWrites("what is read is older than what was written")
		})
	}
}

// TestNothingGrows: objects that come and go leave nothing behind.
func TestNothingGrows(t *testing.T) {
	p := newFixture(t)
	h := p.tracker.handler(t.Context(), group.WithKind("Bucket").GroupKind())
	const objects = 100_000
	for i := range objects {
		h.OnAdd(bucket("a", fmt.Sprintf("bucket-%d", i), "", fmt.Sprintf("tenant-%d", i%1000)), false)
	}
	if n := p.tracker.index.count(key{"Tenant", "a", "tenant-7"}); n != objects/1000 {
		t.Errorf("%d users, want %d", n, objects/1000)
	}
	for i := range objects {
		h.OnDelete(bucket("a", fmt.Sprintf("bucket-%d", i), "", ""))
	}
	if n := len(p.tracker.index.configByUser) + len(p.tracker.index.usersByConfig); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

func TestIndexClear(t *testing.T) {
	i := newIndex()
	buckets, roles := schema.GroupKind{Kind: "Bucket"}, schema.GroupKind{Kind: "Role"}
	main, other := key{"Tenant", "a", "main"}, key{"Tenant", "a", "other"}
	i.set(t.Context(), user{buckets, "a", "one"}, main, true)
	i.set(t.Context(), user{roles, "a", "one"}, main, true)
	i.set(t.Context(), user{buckets, "a", "two"}, other, true)
	changed := i.clear(buckets)
	slices.SortFunc(changed, func(a, b key) int { return len(a.name) - len(b.name) })
	if diff := cmp.Diff([]key{main, other}, changed, cmp.AllowUnexported(key{})); diff != "" {
		t.Errorf("changed: -want, +got:\n%s", diff)
	}
	if i.count(main) != 1 || i.count(other) != 0 {
		t.Errorf("%d and %d users, want 1 and 0", i.count(main), i.count(other))
	}
}

// TestDeletedWithoutOurFinalizer: a configuration that others hold while it is deleted, and we do not, is not ours.
func TestDeletedWithoutOurFinalizer(t *testing.T) {
	w := tenant("a", "main")
	w.Finalizers = []string{"example.org/other"}
	p := newFixture(t, w.DeepCopyObject().(Config))
	p.remove(w)
	p.use(bucket("a", "one", "", "main"))
	p.pass(w)
	p.wantWrites("nothing")
}

// TestLateEvents: events that come when a kind is not followed any more do not fill the index again.
func TestLateEvents(t *testing.T) {
	p := newFixture(t)
	ctx, stop := context.WithCancel(t.Context())
	buckets := group.WithKind("Bucket")
	h := p.tracker.handler(ctx, buckets.GroupKind())
	h.OnAdd(bucket("a", "one", "", "main"), false)
	stop()
	p.tracker.stopTracking(buckets)
	h.OnAdd(bucket("a", "two", "", "main"), false)
	h.OnUpdate(nil, bucket("a", "one", "", "main"))
	if n := len(p.tracker.index.configByUser); n != 0 {
		t.Errorf("%d users are left, want none", n)
	}
}

// TestConfigurationsAreEnqueued: configurations that lost users are enqueued: by each change, and when a kind is
// removed.
func TestConfigurationsAreEnqueued(t *testing.T) {
	p := newFixture(t)
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	ctx, stop := context.WithCancel(t.Context())
	if err := p.tracker.source("Tenant").Start(ctx, q); err != nil {
		t.Fatal(err)
	}
	want := func(reason string, names ...string) {
		t.Helper()
		var got []string
		for range names {
			request, _ := q.Get()
			q.Done(request)
			got = append(got, request.String())
		}
		slices.Sort(got)
		if diff := cmp.Diff(names, got); diff != "" || q.Len() != 0 {
			t.Errorf("%s: %d more, -want, +got:\n%s", reason, q.Len(), diff)
		}
	}
	h := p.tracker.handler(t.Context(), group.WithKind("Bucket").GroupKind())
	h.OnAdd(bucket("a", "one", "", "main"), true)
	want("a user came", "a/main")
	h.OnUpdate(nil, bucket("a", "one", "", "other"))
	want("it went elsewhere", "a/main", "a/other")
	h.OnUpdate(nil, bucket("a", "one", "", "other"))
	h.OnAdd(bucket("a", "two", "ClusterTenant", "main"), false)
	want("what is not ours, and what did not change")
	h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "a/one", Obj: bucket("a", "one", "", "main")})
	want("it is gone", "a/other")
	h.OnAdd(bucket("b", "one", "", "main"), false)
	want("another", "b/main")
	p.tracker.stopTracking(group.WithKind("Bucket"))
	want("its kind is gone", "b/main")
	stop()
	for len(queuesOf(p.tracker)) > 0 {
		runtime.Gosched() // until the end of the context has got around
	}
}

func queuesOf(t *tracker) map[string]queue {
	t.mu.RLock()
	defer t.mu.RUnlock()

	return maps.Clone(t.queues)
}
