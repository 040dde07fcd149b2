package providerconfig

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func nameOf(o client.Object) types.NamespacedName { return client.ObjectKeyFromObject(o) }

// A fakeInformers is the cache of buckets, and its informer.
type fakeInformers struct {
	cache.Cache
	cache.Informer

	err     error // of the informer
	refuses error // of a handler
	handler toolscache.ResourceEventHandler
	removed int
	filled  chan struct{}
}

func (f *fakeInformers) GetInformer(context.Context, client.Object,
	...cache.InformerGetOption) (cache.Informer, error) {
	if f.err != nil {
		return nil, f.err
	}

	return f, nil
}

func (f *fakeInformers) AddEventHandler(
	h toolscache.ResourceEventHandler,
) (toolscache.ResourceEventHandlerRegistration, error) {
	if f.refuses != nil {
		return nil, f.refuses
	}
	f.handler = h

	return f, nil
}

func (f *fakeInformers) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	f.removed++

	return nil
}

func (f *fakeInformers) HasSynced() bool                          { return false }
func (f *fakeInformers) HasSyncedChecker() toolscache.DoneChecker { return f }
func (f *fakeInformers) Name() string                             { return "buckets" }
func (f *fakeInformers) Done() <-chan struct{}                    { return f.filled }

// An onAdd is a queue that looks at something when a request is added.
type onAdd struct {
	queue

	do func(reconcile.Request)
}

func (q onAdd) Add(r reconcile.Request) { q.do(r) }

func newFollowed(t *testing.T, f *fakeInformers) *tracker {
	t.Helper()
	all, err := newConfigKinds(kinds, newYard(newScheme()).Client)
	if err != nil {
		t.Fatal(err)
	}
	tr := newTracker(all, f, newScheme(), unservedBy(nil))
	tr.kindSynced[group.WithKind("Bucket")] = false

	return tr
}

// TestFollow: users are watched from the sync of the cache until the context ends. Then they are
// removed, and their configurations are enqueued after the kind is marked as not synced.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, ended, enqueued := &fakeInformers{filled: make(chan struct{})}, make(chan error, 1), []string(nil)
		tr := newFollowed(t, f)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ended <- tr.watchUsers(ctx, group.WithKind("Bucket"), &Bucket{}) }()
		synctest.Wait()
		if tr.synced() {
			t.Error("all users are known before the cache is filled")
		}
		f.handler.OnAdd(bucket("a", "one", "", "main"), true)
		close(f.filled)
		synctest.Wait()
		if !tr.synced() || tr.index.count(key{"Tenant", "a", "main"}) != 1 || f.removed != 0 {
			t.Error("the user is not known, or is followed no more")
		}
		tr.queues["Tenant"] = onAdd{do: func(r reconcile.Request) {
			enqueued = append(enqueued, r.String())
			if tr.kindSynced[group.WithKind("Bucket")] {
				enqueued = append(enqueued, "too early")
			}
		}}
		stop()
		if err := <-ended; err != nil || tr.synced() || tr.index.count(key{"Tenant", "a", "main"}) != 0 ||
			f.removed != 1 || len(enqueued) != 1 || enqueued[0] != "a/main" {
			t.Errorf("error %v, removed %d handlers, enqueued %q", err, f.removed, enqueued)
		}
	})
}

// TestFollowEnds: an end before the cache is filled, and errors, leave no handler behind.
func TestFollowEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		fakeInformers fakeInformers
		want          string
		removed       int
	}{
		"Context":  {fakeInformers: fakeInformers{}, removed: 1},
		"Informer": {fakeInformers: fakeInformers{err: errBoom}, want: "cannot watch the users of kind Bucket: boom"},
		"Handler": {
			fakeInformers: fakeInformers{refuses: errBoom},
			want:          "cannot watch the users of kind Bucket: boom",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &tc.fakeInformers
			tr := newFollowed(t, f)
			ctx, stop := context.WithCancel(t.Context())
			stop()
			err := tr.watchUsers(ctx, group.WithKind("Bucket"), &Bucket{})
			if got := message(err); got != tc.want || f.removed != tc.removed || tr.synced() {
				t.Errorf("error %q, want %q; removed %d handlers, want %d", got, tc.want, f.removed, tc.removed)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}

	return err.Error()
}

// TestNoUsers: other objects use no configuration, in an event as in a list; a kind without a list
// has no users to enqueue; and the index of a kind that is not watched is not used.
func TestNoUsers(t *testing.T) {
	p := newFixture(t, bucket("a", "one", "", "main"), tenant("a", "main"))
	tr, tenants, buckets := p.tracker, group.WithKind("Tenant"), group.WithKind("Bucket")
	tr.handler(t.Context(), tenants.GroupKind()).OnAdd(tenant("a", "main"), false)
	if len(tr.index.configByUser) != 0 {
		t.Errorf("uses: %v", tr.index.configByUser)
	}
	main := key{"Tenant", "a", "main"}
	if found, err := tr.hasUser(t.Context(), tenants, main); found || err != nil {
		t.Errorf("a configuration uses itself: %t, %v", found, err)
	}
	if _, err := tr.hasUser(t.Context(), group.WithKind("Other"), main); err == nil {
		t.Error("a kind that nobody knows can be listed")
	}
	for _, want := range []bool{false, true} {
		tr.kindSynced[buckets] = !want
		if unused, err := tr.confirmUnused(t.Context(), main); unused != want || err != nil {
			t.Errorf("unused: %t, %v, want %t", unused, err, want)
		}
		if settled := tr.synced(); settled == want {
			t.Errorf("settled: %t", settled)
		}
		if !tr.mu.TryLock() {
			t.Fatal("it was left locked")
		}
		tr.mu.Unlock()
	}
}

// A recordingResolver is a kindResolver that records its calls.
type recordingResolver struct {
	kindResolver

	asked *[]any
}

func (a recordingResolver) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	*a.asked = append(*a.asked, o)

	return a.kindResolver.GroupVersionKindFor(o)
}

// TestAbsentKinds: the kind of a missing object is not resolved, whether it is nil or a nil pointer.
func TestAbsentKinds(t *testing.T) {
	for _, none := range []Config{nil, (*Tenant)(nil)} {
		var asked []any
		f, err := newConfigKinds(Kinds{Namespaced: none, Cluster: &ClusterTenant{}},
			recordingResolver{newFixture(t), &asked})
		if err != nil || len(f) != 1 || len(asked) != 1 {
			t.Errorf("%v: family %v, asked for %v, error %v", none, f, asked, err)
		}
	}
}

// A malformed is a configuration whose copies are none.
type malformed struct{ Tenant }

func (*malformed) DeepCopyObject() runtime.Object { return &Bucket{} }

// TestMalformedKind: a kind whose copies are no configurations cannot be read.
func TestMalformedKind(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	p.rs["Tenant"].kind = &kindInfo{gvk: group.WithKind("Tenant"), empty: &malformed{}}
	if _, err := p.try(tenant("a", "main")); message(err) != "cannot get the ProviderConfig: a copy of "+
		"*providerconfig.malformed is not a Config" {
		t.Errorf("error %v", err)
	}
}

// failing is a client that answers lists with an error once it has answered some, and reads with another.
type failing struct {
	client.Client

	reads error
	lists int
}

func (f *failing) Get(ctx context.Context, k client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	if f.reads != nil {
		return f.reads
	}

	return f.Client.Get(ctx, k, obj, o...)
}

func (f *failing) List(ctx context.Context, l client.ObjectList, o ...client.ListOption) error {
	if f.lists--; f.lists < 0 {
		return errBoom
	}

	return f.Client.List(ctx, l, o...)
}

// TestUsedForDeletionByAnyKind: every kind of users is looked at, and one that cannot be listed is an error: one whose
// list has no type is not even asked for.
func TestUsedForDeletionByAnyKind(t *testing.T) {
	leaving := bucket("a", "two", "", "main")
	leaving.Finalizers = []string{"example.org/held"}
	p := newFixture(t, leaving)
	if err := p.Delete(t.Context(), leaving); err != nil {
		t.Fatal(err)
	}
	s := newScheme()
	s.AddKnownTypeWithName(group.WithKind("Role"), &Role{})
	s.AddKnownTypeWithName(group.WithKind("RoleList"), &list[Role, *Role]{})
	first := &unlisted{Client: p, scheme: s}
	if got, err := UsedForDeletion(t.Context(), first, kinds, []User{&Role{}, &Bucket{}},
		tenant("a", "main")); err != nil || !got {
		t.Errorf("of two kinds: %t, %v", got, err)
	}
	if got, err := UsedForDeletion(t.Context(), &failing{Client: p}, kinds, []User{&Bucket{}},
		tenant("a", "main")); !errors.Is(err, errBoom) || got {
		t.Errorf("when there is no list: %t, %v", got, err)
	}
	asked := &failing{Client: p, lists: 1}
	if got, err := UsedForDeletion(t.Context(), &unlisted{Client: asked, scheme: newScheme()}, kinds,
		[]User{&Role{}}, tenant("a", "main")); err == nil || got || asked.lists != 1 {
		t.Errorf("a list without a type: %t, %v, %d lists left", got, err, asked.lists)
	}
}

// unlisted is a client of a server that has no roles.
type unlisted struct {
	client.Client

	scheme *runtime.Scheme
}

func (u *unlisted) Scheme() *runtime.Scheme { return u.scheme }

func (u *unlisted) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	if _, ok := o.(*Role); ok {
		return group.WithKind("Role"), nil
	}

	return u.Client.GroupVersionKindFor(o)
}

func (u *unlisted) List(ctx context.Context, l client.ObjectList, o ...client.ListOption) error {
	if _, ok := l.(*list[Role, *Role]); ok {
		return nil
	}

	return u.Client.List(ctx, l, o...)
}
