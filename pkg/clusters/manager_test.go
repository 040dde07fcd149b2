package clusters

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/test"
)

var object = User{Kind: "App", Key: Key{Name: "api"}}

// ref returns a cluster that was read with a revision.
func ref(r Revision) Ref { return Ref{Key: key, UID: "u", Revision: r} }

// TestManagerRefresh covers all combinations of the revision that a user was given, that
// of the object as it was read, and that of the provider.
func TestManagerRefresh(t *testing.T) {
	type want struct {
		get     error
		change  Change
		refresh error
		after   error // of Get, after Refresh
	}
	cases := map[string]struct {
		reason string
		built  Revision
		read   Ref
		has    Revision
		err    error
		want   want
	}{
		"First": {"nothing was built: all agree", "", ref("a"), "a", nil, want{}},
		"FirstUnknown": {
			"nothing was built, and nothing is known", "", ref("a"), "", nil,
			want{ErrNotFound, Unchanged, ErrNotFound, ErrNotFound},
		},
		"FirstFailed": {
			"the error of the provider goes through", "", ref("a"), "a", errBoom, want{errBoom, Unchanged, errBoom, errBoom},
		},
		"FirstStale": {
			"the object that was read is old", "", ref("a"), "b", nil, want{ErrStale, Unchanged, ErrStale, ErrStale},
		},
		"Same": {"nothing has changed", "a", ref("a"), "a", nil, want{}},
		"SameAsRead": {
			"it matches what the caller sees, whatever the provider has by now", "a", ref("a"), "b", nil,
			want{ErrStale, Unchanged, nil, ErrStale},
		},
		"SameButFailed": {
			"the same, and the provider is not even asked", "a", ref("a"), "a", errBoom, want{errBoom, Unchanged, nil, errBoom},
		},
		"Replaced": {
			"there is a new connection, and it can be had", "a", ref("b"), "b", nil, want{ErrStale, Replaced, nil, nil},
		},
		"ReplacedAgain": {
			"there is a newer one than was read", "a", ref("b"), "c", nil, want{ErrStale, Replaced, ErrStale, ErrStale},
		},
		"ReadAhead": {
			"the provider lags behind", "a", ref("b"), "a", nil, want{ErrStale, Replaced, ErrStale, ErrStale},
		},
		"Lost": {"the provider has lost it", "a", ref("b"), "b", errBoom, want{errBoom, Lost, errBoom, errBoom}},
		"Gone": {
			"the provider does not know it any more", "a", ref("b"), "", nil, want{ErrNotFound, Lost, ErrNotFound, ErrNotFound},
		},
		"NotConnected": {
			"the object says that there is no connection", "a", ref(""), "a", nil, want{ErrStale, Lost, ErrStale, ErrStale},
		},
		"AnotherNamesake": {
			"another cluster of the name, on the same connection", "a", Ref{Key: key, UID: "v", Revision: "a"}, "a", nil,
			want{ErrStale, Replaced, nil, nil},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			newManager := func() *Manager[string] {
				p := newFakeProvider()
				m := NewManager[string](p)
				if tc.built != "" {
					p.set(key, tc.built, nil)
					if _, err := m.Get(t.Context(), object, ref(tc.built)); err != nil {
						t.Fatal(err)
					}
				}
				p.set(key, tc.has, tc.err)

				return m
			}
			var got want
			_, got.get = newManager().Get(t.Context(), object, tc.read)
			m := newManager()
			got.change, got.refresh = m.Refresh(t.Context(), object, tc.read)
			_, got.after = m.Get(t.Context(), object, tc.read)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), test.EquateErrors()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if second, _ := m.Refresh(t.Context(), object, tc.read); second != Unchanged {
				t.Errorf("%s: the second Refresh returns %s", tc.reason, second)
			}
		})
	}
}

// TestManagerReportsChangeOncePerUser verifies that every user has a state of its own,
// also users with the same name and different kinds.
func TestManagerReportsChangeOncePerUser(t *testing.T) {
	p := newFakeProvider()
	m := NewManager[string](p)
	users := []User{object, {Kind: "Job", Key: object.Key}, {Kind: "Job", Key: Key{Name: "web"}}}
	p.set(key, "a", nil)
	for _, u := range users {
		if _, err := m.Get(t.Context(), u, ref("a")); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(users, m.Users(key)); diff != "" {
		t.Errorf("users: -want +got:\n%s", diff)
	}
	p.set(key, "b", nil)
	for _, u := range users {
		first, err := m.Refresh(t.Context(), u, ref("b"))
		second, _ := m.Refresh(t.Context(), u, ref("b"))
		if first != Replaced || second != Unchanged || err != nil {
			t.Errorf("%v: want Replaced and Unchanged, got %s, %v and %s", u, first, err, second)
		}
	}
	m.Forget(object)
	if m.Lose(object) || !m.Lose(users[1]) || m.Lose(users[1]) {
		t.Error("want only what was built to be lost, and once")
	}
	m.ForgetCluster(key)
	if got := m.Users(key); len(got) != 0 || len(m.users) != 0 {
		t.Errorf("left: %v", got)
	}
}

// TestManagerForget verifies that an object that was created again has no connection.
func TestManagerForget(t *testing.T) {
	p := newFakeProvider()
	m := NewManager[string](p)
	p.set(key, "a", nil)
	_, _ = m.Get(t.Context(), object, ref("a"))
	m.Forget(object)
	p.set(key, "b", nil)
	if change, err := m.Refresh(t.Context(), object, ref("b")); change != Unchanged || err != nil {
		t.Errorf("want Unchanged, got %s, %v", change, err)
	}
}

// TestPlainProviderEndsLeases verifies that the leases of a provider that is no Acquirer
// end when it has another revision, and when the cluster is forgotten.
func TestPlainProviderEndsLeases(t *testing.T) {
	p := newFakeProvider()
	m := NewManager[string](p)
	p.set(key, "a", nil)
	first, _ := m.Get(t.Context(), object, ref("a"))
	p.set(key, "b", nil)
	_, _ = m.Refresh(t.Context(), object, ref("b"))
	if !errors.Is(context.Cause(first.Context), ErrReplaced) {
		t.Errorf("want %v, got %v", ErrReplaced, context.Cause(first.Context))
	}
	second, err := m.Get(t.Context(), object, ref("b"))
	if err != nil || second.Context.Err() != nil {
		t.Fatalf("want a lease, got %v, %v", err, second.Context.Err())
	}
	m.ForgetCluster(key)
	if second.Context.Err() == nil {
		t.Error("want the lease ended")
	}
	p.set(key, "c", nil)
	third, _ := m.Get(t.Context(), object, ref("c"))
	p.set(key, "", nil)
	_, _ = m.Get(t.Context(), object, ref("c"))
	if third.Context.Err() == nil {
		t.Error("want the lease ended, since the provider does not know the cluster any more")
	}
}

// TestStaleRevisionOfProvider verifies that a stale result of a provider does not replace
// a newer one. The provider may call the manager: no lock is held.
func TestStaleRevisionOfProvider(t *testing.T) {
	p := newFakeProvider()
	m := NewManager[string](p)
	p.set(key, "a", nil)
	var newer Lease[string]
	p.onGet = func() {
		p.mu.Lock()
		p.onGet = nil
		p.mu.Unlock()
		p.set(key, "b", nil)
		newer, _ = m.Get(t.Context(), User{Kind: "Job", Key: object.Key}, ref("b"))
	}
	if _, err := m.Get(t.Context(), object, ref("a")); !errors.Is(err, ErrStale) {
		t.Errorf("want %v, got %v", ErrStale, err)
	}
	if newer.Revision != "b" || newer.Context.Err() != nil {
		t.Errorf("the stale revision has ended the new lease: %+v", newer)
	}
}

// TestStaleNotFoundOfProvider verifies that a stale ErrNotFound of a provider does not
// end a newer lease.
func TestStaleNotFoundOfProvider(t *testing.T) {
	p := newFakeProvider()
	m := NewManager[string](p)
	var newer Lease[string]
	p.onGet = func() {
		p.mu.Lock()
		p.onGet = nil
		p.mu.Unlock()
		p.set(key, "b", nil)
		newer, _ = m.Get(t.Context(), User{Kind: "Job", Key: object.Key}, ref("b"))
	}
	if _, err := m.Get(t.Context(), object, ref("a")); !errors.Is(err, ErrNotFound) {
		t.Errorf("want %v, got %v", ErrNotFound, err)
	}
	if newer.Revision != "b" || newer.Context.Err() != nil {
		t.Errorf("the stale error has ended the new lease: %+v", newer)
	}
}

// TestManagerReconnectWithSameRevision verifies that a connection that ended and was made
// again is another one, although it has the same revision. Refresh returns that once, and
// not before the connection exists again.
func TestManagerReconnectWithSameRevision(t *testing.T) {
	c := (&connector{}).cache(t, CacheOptions[string]{})
	m := NewManager(c)
	refresh := func(what string, want Change, why error) {
		t.Helper()
		if got, err := m.Refresh(t.Context(), object, ref("a")); got != want || !errors.Is(err, why) {
			t.Errorf("%s: want %s, %v, got %s, %v", what, want, why, got, err)
		}
	}
	c.Set(key, Input{Revision: "a"})
	first, err := m.Get(t.Context(), object, ref("a"))
	if err != nil {
		t.Fatal(err)
	}
	first.Release()
	c.Fail(key, errBoom)
	refresh("there is none just now, and the caller does not see that yet", Unchanged, errBoom)
	c.Drop(key)
	refresh("it is not even known any more", Unchanged, ErrNotFound)
	c.Set(key, Input{Revision: "b"})
	refresh("there is another one, and the caller does not see that yet", Unchanged, ErrStale)
	c.Set(key, Input{Revision: "a"})
	if _, err := m.Get(t.Context(), object, ref("a")); !errors.Is(err, ErrStale) || first.Context.Err() == nil {
		t.Errorf("want %v until it was refreshed, got %v", ErrStale, err)
	}
	refresh("it is back", Replaced, nil)
	refresh("it is back, and Refresh has returned that", Unchanged, nil)
	second, err := m.Get(t.Context(), object, ref("a"))
	if err != nil || second.Context.Err() != nil {
		t.Fatalf("want a lease, got %v", err)
	}
	second.Release()
	refresh("nothing has happened since", Unchanged, nil)
}

// TestSource verifies that users of the source's kind are enqueued as long as it runs.
func TestSource(t *testing.T) {
	f := &connector{}
	c := f.cache(t, CacheOptions[string]{})
	m := NewManager(c)
	_, _ = m.Get(t.Context(), object, ref("a")) // not connected yet
	_, _ = m.Get(t.Context(), User{Kind: "Job", Key: Key{Name: "batch"}}, ref("a"))
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	ctx, stop := context.WithCancel(t.Context())
	if err := m.Source("App").Start(ctx, q); err != nil {
		t.Fatal(err)
	}
	next := func() types.NamespacedName {
		r, _ := q.Get()
		q.Done(r)

		return r.NamespacedName
	}
	c.Set(key, Input{Revision: "a"})
	if got := next(); got != object.Key || q.Len() != 0 {
		t.Errorf("want %s, got %s and %d more", object.Key, got, q.Len())
	}
	m.Changed(key)
	if got := next(); got != object.Key {
		t.Errorf("want %s, got %s", object.Key, got)
	}
	stop()
	for listening := true; listening; {
		m.mu.Lock()
		c.mu.Lock()
		listening = len(m.listeners)+len(c.listeners) > 0
		c.mu.Unlock()
		m.mu.Unlock()
	}
	c.Drop(key)
	if q.Len() != 0 {
		t.Error("enqueued by a source that has ended")
	}
}
