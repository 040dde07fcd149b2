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

var boat = User{Kind: "Boat", Key: Key{Name: "pequod"}}

func ref(r Revision) Ref { return Ref{Key: key, UID: "u", Revision: r} }

// TestC6Manager walks through what a user may have built on, has read, and the provider
// says: T, A and P.
func TestC6Manager(t *testing.T) {
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
		"First":           {"nothing was built: all agree", "", ref("a"), "a", nil, want{}},
		"FirstUnknown":    {"nothing was built, and nothing is known", "", ref("a"), "", nil, want{ErrNotFound, Unchanged, ErrNotFound, ErrNotFound}},
		"FirstFailed":     {"the error of the provider goes through", "", ref("a"), "a", errBoom, want{errBoom, Unchanged, errBoom, errBoom}},
		"FirstStale":      {"the object that was read is old", "", ref("a"), "b", nil, want{ErrStale, Unchanged, ErrStale, ErrStale}},
		"Same":            {"nothing has changed", "a", ref("a"), "a", nil, want{}},
		"SameAsRead":      {"it matches what the caller sees, whatever the provider has by now", "a", ref("a"), "b", nil, want{ErrStale, Unchanged, nil, ErrStale}},
		"SameButFailed":   {"the same, and the provider is not even asked", "a", ref("a"), "a", errBoom, want{errBoom, Unchanged, nil, errBoom}},
		"Replaced":        {"there is a new connection, and it can be had", "a", ref("b"), "b", nil, want{ErrStale, Replaced, nil, nil}},
		"ReplacedAgain":   {"there is a newer one than was read", "a", ref("b"), "c", nil, want{ErrStale, Replaced, ErrStale, ErrStale}},
		"ReadAhead":       {"the provider lags behind", "a", ref("b"), "a", nil, want{ErrStale, Replaced, ErrStale, ErrStale}},
		"Lost":            {"the provider has lost it", "a", ref("b"), "b", errBoom, want{errBoom, Lost, errBoom, errBoom}},
		"Gone":            {"the provider does not know it any more", "a", ref("b"), "", nil, want{ErrNotFound, Lost, ErrNotFound, ErrNotFound}},
		"NotConnected":    {"the object says that there is no connection", "a", ref(""), "a", nil, want{ErrStale, Lost, ErrStale, ErrStale}},
		"AnotherNamesake": {"another cluster of the name, on the same connection", "a", Ref{Key: key, UID: "v", Revision: "a"}, "a", nil, want{ErrStale, Replaced, nil, nil}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			made := func() *Manager[string] {
				d := newDesk()
				m := NewManager[string](d)
				if tc.built != "" {
					d.set(key, tc.built, nil)
					if _, err := m.Get(t.Context(), boat, ref(tc.built)); err != nil {
						t.Fatal(err)
					}
				}
				d.set(key, tc.has, tc.err)

				return m
			}
			var got want
			_, got.get = made().Get(t.Context(), boat, tc.read)
			m := made()
			got.change, got.refresh = m.Refresh(t.Context(), boat, tc.read)
			_, got.after = m.Get(t.Context(), boat, tc.read)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), test.EquateErrors()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if again, _ := m.Refresh(t.Context(), boat, tc.read); again != Unchanged {
				t.Errorf("%s: told a second time: %s", tc.reason, again)
			}
		})
	}
}

// TestC2EachUserIsTold: every object has a state of its own, also those of one name in
// two controllers.
func TestC2EachUserIsTold(t *testing.T) {
	d := newDesk()
	m := NewManager[string](d)
	users := []User{boat, {Kind: "Crew", Key: boat.Key}, {Kind: "Crew", Key: Key{Name: "rachel"}}}
	d.set(key, "a", nil)
	for _, u := range users {
		if _, err := m.Get(t.Context(), u, ref("a")); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(users, m.Users(key)); diff != "" {
		t.Errorf("users: -want +got:\n%s", diff)
	}
	d.set(key, "b", nil)
	for _, u := range users {
		first, err := m.Refresh(t.Context(), u, ref("b"))
		second, _ := m.Refresh(t.Context(), u, ref("b"))
		if first != Replaced || second != Unchanged || err != nil {
			t.Errorf("%v: want Replaced and Unchanged, got %s, %v and %s", u, first, err, second)
		}
	}
	m.Forget(boat)
	if m.Lose(boat) || !m.Lose(users[1]) || m.Lose(users[1]) {
		t.Error("want only what was built to be lost, and once")
	}
	m.ForgetCluster(key)
	if got := m.Users(key); len(got) != 0 || len(m.users) != 0 {
		t.Errorf("left: %v", got)
	}
}

// TestC1ForgottenObjectsAreNew: an object that was made anew has built nothing.
func TestC1ForgottenObjectsAreNew(t *testing.T) {
	d := newDesk()
	m := NewManager[string](d)
	d.set(key, "a", nil)
	_, _ = m.Get(t.Context(), boat, ref("a"))
	m.Forget(boat)
	d.set(key, "b", nil)
	if change, err := m.Refresh(t.Context(), boat, ref("b")); change != Unchanged || err != nil {
		t.Errorf("want Unchanged, got %s, %v", change, err)
	}
}

// TestC7LeasesOfAPlainProvider: they end when the provider has another revision, and
// when the cluster is forgotten.
func TestC7LeasesOfAPlainProvider(t *testing.T) {
	d := newDesk()
	m := NewManager[string](d)
	d.set(key, "a", nil)
	first, _ := m.Get(t.Context(), boat, ref("a"))
	d.set(key, "b", nil)
	_, _ = m.Refresh(t.Context(), boat, ref("b"))
	if !errors.Is(context.Cause(first.Context), ErrReplaced) {
		t.Errorf("want %v, got %v", ErrReplaced, context.Cause(first.Context))
	}
	second, err := m.Get(t.Context(), boat, ref("b"))
	if err != nil || second.Context.Err() != nil {
		t.Fatalf("want a lease, got %v, %v", err, second.Context.Err())
	}
	m.ForgetCluster(key)
	if second.Context.Err() == nil {
		t.Error("want the lease ended")
	}
	d.set(key, "c", nil)
	third, _ := m.Get(t.Context(), boat, ref("c"))
	d.set(key, "", nil)
	_, _ = m.Get(t.Context(), boat, ref("c"))
	if third.Context.Err() == nil {
		t.Error("want the lease ended, since the provider does not know the cluster any more")
	}
}

// TestC5OldAnswers: an answer that was overtaken by a newer one does not bring the old
// revision back. The provider may call back, too: no lock is held.
func TestC5OldAnswers(t *testing.T) {
	d := newDesk()
	m := NewManager[string](d)
	d.set(key, "a", nil)
	var newer Lease[string]
	d.during = func() {
		d.mu.Lock()
		d.during = nil
		d.mu.Unlock()
		d.set(key, "b", nil)
		newer, _ = m.Get(t.Context(), User{Kind: "Crew", Key: boat.Key}, ref("b"))
	}
	if _, err := m.Get(t.Context(), boat, ref("a")); !errors.Is(err, ErrStale) {
		t.Errorf("want %v, got %v", ErrStale, err)
	}
	if newer.Revision != "b" || newer.Context.Err() != nil {
		t.Errorf("the old answer has ended the new lease: %+v", newer)
	}
}

// TestC5OldNews: that a cluster is gone may be overtaken, too: whoever was given it
// meanwhile keeps it.
func TestC5OldNews(t *testing.T) {
	d := newDesk()
	m := NewManager[string](d)
	var newer Lease[string]
	d.during = func() {
		d.mu.Lock()
		d.during = nil
		d.mu.Unlock()
		d.set(key, "b", nil)
		newer, _ = m.Get(t.Context(), User{Kind: "Crew", Key: boat.Key}, ref("b"))
	}
	if _, err := m.Get(t.Context(), boat, ref("a")); !errors.Is(err, ErrNotFound) {
		t.Errorf("want %v, got %v", ErrNotFound, err)
	}
	if newer.Revision != "b" || newer.Context.Err() != nil {
		t.Errorf("old news have ended the new lease: %+v", newer)
	}
}

// TestComesBack: a connection that ended is another one when it comes back, though it has
// the revision of before. Who has built on it is told once, and not before it is back.
func TestComesBack(t *testing.T) {
	c := (&yard{}).cache(t, CacheOptions[string]{})
	m := NewManager(c)
	refresh := func(what string, want Change, why error) {
		t.Helper()
		if got, err := m.Refresh(t.Context(), boat, ref("a")); got != want || !errors.Is(err, why) {
			t.Errorf("%s: want %s, %v, got %s, %v", what, want, why, got, err)
		}
	}
	c.Set(key, Input{Revision: "a"})
	first, err := m.Get(t.Context(), boat, ref("a"))
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
	if _, err := m.Get(t.Context(), boat, ref("a")); !errors.Is(err, ErrStale) || first.Context.Err() == nil {
		t.Errorf("want %v until it was refreshed, got %v", ErrStale, err)
	}
	refresh("it is back", Replaced, nil)
	refresh("it is back, and that was told", Unchanged, nil)
	second, err := m.Get(t.Context(), boat, ref("a"))
	if err != nil || second.Context.Err() != nil {
		t.Fatalf("want a lease, got %v", err)
	}
	second.Release()
	refresh("nothing has happened since", Unchanged, nil)
}

// TestC8Source: those who asked are woken, of the source's kind, for as long as it runs.
func TestC8Source(t *testing.T) {
	y := &yard{}
	c := y.cache(t, CacheOptions[string]{})
	m := NewManager(c)
	_, _ = m.Get(t.Context(), boat, ref("a")) // not connected yet
	_, _ = m.Get(t.Context(), User{Kind: "Crew", Key: Key{Name: "ishmael"}}, ref("a"))
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	ctx, stop := context.WithCancel(t.Context())
	if err := m.Source("Boat").Start(ctx, q); err != nil {
		t.Fatal(err)
	}
	next := func() types.NamespacedName {
		r, _ := q.Get()
		q.Done(r)

		return r.NamespacedName
	}
	c.Set(key, Input{Revision: "a"})
	if got := next(); got != boat.Key || q.Len() != 0 {
		t.Errorf("want %s, got %s and %d more", boat.Key, got, q.Len())
	}
	m.Changed(key)
	if got := next(); got != boat.Key {
		t.Errorf("want %s, got %s", boat.Key, got)
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
		t.Error("woken by a source that has ended")
	}
}
