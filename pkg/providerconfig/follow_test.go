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

// A fleet is the cache of boats, and its informer.
type fleet struct {
	cache.Cache
	cache.Informer

	err     error // of the informer
	refuses error // of a handler
	handler toolscache.ResourceEventHandler
	removed int
	filled  chan struct{}
}

func (f *fleet) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	if f.err != nil {
		return nil, f.err
	}

	return f, nil
}

func (f *fleet) AddEventHandler(
	h toolscache.ResourceEventHandler,
) (toolscache.ResourceEventHandlerRegistration, error) {
	if f.refuses != nil {
		return nil, f.refuses
	}
	f.handler = h

	return f, nil
}

func (f *fleet) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	f.removed++

	return nil
}

func (f *fleet) HasSynced() bool                          { return false }
func (f *fleet) HasSyncedChecker() toolscache.DoneChecker { return f }
func (f *fleet) Name() string                             { return "boats" }
func (f *fleet) Done() <-chan struct{}                    { return f.filled }

// An onAdd is a queue that looks at something when a request is added.
type onAdd struct {
	queue

	do func(reconcile.Request)
}

func (q onAdd) Add(r reconcile.Request) { q.do(r) }

func newFollowed(t *testing.T, f *fleet) *tracker {
	t.Helper()
	all, err := newConfigKinds(kinds, newYard(newScheme()).Client)
	if err != nil {
		t.Fatal(err)
	}
	tr := newTracker(all, f, newScheme(), unservedBy(nil))
	tr.kindSynced[group.WithKind("Boat")] = false

	return tr
}

// TestFollow: users are followed from when the cache is filled until the context ends. Then
// nothing is left of them, and whoever they used is told after it is known that not all users are
// known any more.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, ended, told := &fleet{filled: make(chan struct{})}, make(chan error, 1), []string(nil)
		tr := newFollowed(t, f)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ended <- tr.watchUsers(ctx, group.WithKind("Boat"), &Boat{}) }()
		synctest.Wait()
		if tr.synced() {
			t.Error("all users are known before the cache is filled")
		}
		f.handler.OnAdd(boat("a", "one", "", "main"), true)
		close(f.filled)
		synctest.Wait()
		if !tr.synced() || tr.index.count(key{"Wharf", "a", "main"}) != 1 || f.removed != 0 {
			t.Error("the user is not known, or is followed no more")
		}
		tr.queues["Wharf"] = onAdd{do: func(r reconcile.Request) {
			told = append(told, r.String())
			if tr.kindSynced[group.WithKind("Boat")] {
				told = append(told, "too early")
			}
		}}
		stop()
		if err := <-ended; err != nil || tr.synced() || tr.index.count(key{"Wharf", "a", "main"}) != 0 ||
			f.removed != 1 || len(told) != 1 || told[0] != "a/main" {
			t.Errorf("error %v, removed %d handlers, told %q", err, f.removed, told)
		}
	})
}

// TestFollowEnds: an end before the cache is filled, and errors, leave no handler behind.
func TestFollowEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		fleet   fleet
		want    string
		removed int
	}{
		"Context":  {fleet: fleet{}, removed: 1},
		"Informer": {fleet: fleet{err: errBoom}, want: "cannot watch the users of kind Boat: boom"},
		"Handler":  {fleet: fleet{refuses: errBoom}, want: "cannot watch the users of kind Boat: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &tc.fleet
			tr := newFollowed(t, f)
			ctx, stop := context.WithCancel(t.Context())
			stop()
			err := tr.watchUsers(ctx, group.WithKind("Boat"), &Boat{})
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

// TestNoUsers: what is no user uses nothing, in an event as in a list; a kind without a list has
// none that could be told; and the index of a kind that is not followed is not asked for whom the
// cache has.
func TestNoUsers(t *testing.T) {
	p := newPort(t, boat("a", "one", "", "main"), wharf("a", "main"))
	tr, wharves, boats := p.tracker, group.WithKind("Wharf"), group.WithKind("Boat")
	tr.handler(t.Context(), wharves.GroupKind()).OnAdd(wharf("a", "main"), false)
	if len(tr.index.configByUser) != 0 {
		t.Errorf("uses: %v", tr.index.configByUser)
	}
	main := key{"Wharf", "a", "main"}
	if found, err := tr.hasUser(t.Context(), wharves, main); found || err != nil {
		t.Errorf("a configuration uses itself: %t, %v", found, err)
	}
	if _, err := tr.hasUser(t.Context(), group.WithKind("Pier"), main); err == nil {
		t.Error("a kind that nobody knows can be listed")
	}
	for _, want := range []bool{false, true} {
		tr.kindSynced[boats] = !want
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

// asking is whoever tells kinds, and notes of what.
type asking struct {
	kindResolver

	asked *[]any
}

func (a asking) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	*a.asked = append(*a.asked, o)

	return a.kindResolver.GroupVersionKindFor(o)
}

// TestAbsentKinds: a kind that is not given is asked for by nobody, whether it is nil or a nil pointer.
func TestAbsentKinds(t *testing.T) {
	for _, none := range []Config{nil, (*Wharf)(nil)} {
		var asked []any
		f, err := newConfigKinds(Kinds{Namespaced: none, Cluster: &ClusterWharf{}}, asking{newPort(t), &asked})
		if err != nil || len(f) != 1 || len(asked) != 1 {
			t.Errorf("%v: family %v, asked for %v, error %v", none, f, asked, err)
		}
	}
}

// A malformed is a configuration whose copies are none.
type malformed struct{ Wharf }

func (*malformed) DeepCopyObject() runtime.Object { return &Boat{} }

// TestMalformedKind: a kind whose copies are no configurations cannot be read.
func TestMalformedKind(t *testing.T) {
	p := newPort(t, wharf("a", "main"))
	p.rs["Wharf"].kind = &kindInfo{gvk: group.WithKind("Wharf"), empty: &malformed{}}
	if _, err := p.try(wharf("a", "main")); message(err) != "cannot get the ProviderConfig: a copy of "+
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
	leaving := boat("a", "two", "", "main")
	leaving.Finalizers = []string{"example.org/held"}
	p := newPort(t, leaving)
	if err := p.Delete(t.Context(), leaving); err != nil {
		t.Fatal(err)
	}
	s := newScheme()
	s.AddKnownTypeWithName(group.WithKind("Raft"), &Raft{})
	s.AddKnownTypeWithName(group.WithKind("RaftList"), &list[Raft, *Raft]{})
	first := &unlisted{Client: p, scheme: s}
	if got, err := UsedForDeletion(t.Context(), first, kinds, []User{&Raft{}, &Boat{}},
		wharf("a", "main")); err != nil || !got {
		t.Errorf("of two kinds: %t, %v", got, err)
	}
	if got, err := UsedForDeletion(t.Context(), &failing{Client: p}, kinds, []User{&Boat{}},
		wharf("a", "main")); !errors.Is(err, errBoom) || got {
		t.Errorf("when there is no list: %t, %v", got, err)
	}
	asked := &failing{Client: p, lists: 1}
	if got, err := UsedForDeletion(t.Context(), &unlisted{Client: asked, scheme: newScheme()}, kinds,
		[]User{&Raft{}}, wharf("a", "main")); err == nil || got || asked.lists != 1 {
		t.Errorf("a list without a type: %t, %v, %d lists left", got, err, asked.lists)
	}
}

// unlisted is a client of a server that has no rafts.
type unlisted struct {
	client.Client

	scheme *runtime.Scheme
}

func (u *unlisted) Scheme() *runtime.Scheme { return u.scheme }

func (u *unlisted) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	if _, ok := o.(*Raft); ok {
		return group.WithKind("Raft"), nil
	}

	return u.Client.GroupVersionKindFor(o)
}

func (u *unlisted) List(ctx context.Context, l client.ObjectList, o ...client.ListOption) error {
	if _, ok := l.(*list[Raft, *Raft]); ok {
		return nil
	}

	return u.Client.List(ctx, l, o...)
}
