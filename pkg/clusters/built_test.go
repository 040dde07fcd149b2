package clusters

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBuilt: what a user has built on is known by cluster, and one that is gone is lost alone.
func TestBuilt(t *testing.T) {
	d, other := newDesk(), Key{Namespace: "sea", Name: "other"}
	d.set(key, "a", nil)
	d.set(other, "b", nil)
	m := NewManager[string](d)
	for _, r := range []Ref{{Key: key, Revision: "a"}, {Key: other, Revision: "b"}} {
		lease, err := m.Get(t.Context(), boat, r)
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
	}
	if _, err := m.Get(t.Context(), boat, Ref{Key: Key{Name: "unknown"}}); err == nil {
		t.Error("there is no such cluster")
	}
	if diff := cmp.Diff(map[Key]Revision{key: "a", other: "b"}, m.Built(boat)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !m.LoseCluster(boat, other) || m.LoseCluster(boat, other) || m.LoseCluster(boat, Key{Name: "never"}) {
		t.Error("want one cluster lost, once")
	}
	if diff := cmp.Diff(map[Key]Revision{key: "a"}, m.Built(boat)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if users := m.Users(other); len(users) != 1 {
		t.Errorf("a user who lost a cluster still wants to know of it: %v", users)
	}
	if diff := cmp.Diff([]User{boat}, m.Named(boat.Key)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if named := m.Named(Key{Name: "nobody"}); len(named) != 0 {
		t.Errorf("nobody has that name: %v", named)
	}
}

// TestWithoutIdleUsers: only users who have built something are remembered.
func TestWithoutIdleUsers(t *testing.T) {
	d := newDesk()
	m := NewManager[string](d, WithoutIdleUsers())
	if _, err := m.Get(t.Context(), boat, ref("a")); err == nil || len(m.Users(key)) != 0 {
		t.Errorf("who got nothing is remembered: %v", m.Users(key))
	}
	d.set(key, "a", nil)
	if _, err := m.Get(t.Context(), boat, ref("a")); err != nil || len(m.Users(key)) != 1 {
		t.Errorf("who got something is not: %v, %v", m.Users(key), err)
	}
	if !m.Lose(boat) || len(m.Users(key)) != 0 || len(m.Named(boat.Key)) != 0 {
		t.Errorf("who has lost it is remembered: %v", m.Users(key))
	}
}
