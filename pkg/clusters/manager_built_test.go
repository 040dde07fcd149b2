package clusters

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestManagerBuilt verifies that Built returns the revisions by cluster, and that
// LoseCluster removes one cluster.
func TestManagerBuilt(t *testing.T) {
	p, other := newFakeProvider(), Key{Namespace: "default", Name: "other"}
	p.set(key, "a", nil)
	p.set(other, "b", nil)
	m := NewManager[string](p)
	for _, r := range []Ref{{Key: key, Revision: "a"}, {Key: other, Revision: "b"}} {
		lease, err := m.Get(t.Context(), object, r)
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
	}
	if _, err := m.Get(t.Context(), object, Ref{Key: Key{Name: "unknown"}}); err == nil {
		t.Error("there is no such cluster")
	}
	if diff := cmp.Diff(map[Key]Revision{key: "a", other: "b"}, m.Built(object)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !m.LoseCluster(object, other) || m.LoseCluster(object, other) || m.LoseCluster(object, Key{Name: "never"}) {
		t.Error("want one cluster lost, once")
	}
	if diff := cmp.Diff(map[Key]Revision{key: "a"}, m.Built(object)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if users := m.Users(other); len(users) != 1 {
		t.Errorf("a user that lost a cluster is not tracked any more: %v", users)
	}
	if diff := cmp.Diff([]User{object}, m.Named(object.Key)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if named := m.Named(Key{Name: "unknown"}); len(named) != 0 {
		t.Errorf("users with an unknown name: %v", named)
	}
}

// TestManagerWithoutIdleUsers verifies that only users with a connection are tracked.
func TestManagerWithoutIdleUsers(t *testing.T) {
	p := newFakeProvider()
	m := NewManager[string](p, WithoutIdleUsers())
	if _, err := m.Get(t.Context(), object, ref("a")); err == nil || len(m.Users(key)) != 0 {
		t.Errorf("a user without a connection is tracked: %v", m.Users(key))
	}
	p.set(key, "a", nil)
	if _, err := m.Get(t.Context(), object, ref("a")); err != nil || len(m.Users(key)) != 1 {
		t.Errorf("a user with a connection is not tracked: %v, %v", m.Users(key), err)
	}
	if !m.Lose(object) || len(m.Users(key)) != 0 || len(m.Named(object.Key)) != 0 {
		t.Errorf("a user that has lost its connection is tracked: %v", m.Users(key))
	}
}
