package clusters

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The weaknesses of what controllers did this with before each have a test that keeps them
// out, by their numbers C1 to C12: here, in manager_test.go and cache_test.go, and in
// packages clientmanager (C1, C5, C9, C12) and connect (C11).

// TestC3RevisionsAreNoTimes: a connection is another one because its revision is, whatever
// the clock says.
func TestC3RevisionsAreNoTimes(t *testing.T) {
	y := &yard{}
	c := y.cache(t, CacheOptions[string]{})
	at := metav1.NowMicro()
	set := func(r Revision, at time.Time) bool {
		return c.Set(key, Input{Revision: r, ConnectedAt: metav1.NewMicroTime(at)})
	}
	set("b", at.Time)
	if set("b", at.Add(time.Hour)) {
		t.Error("only the time is another one")
	}
	if !set("a", at.Time) || !set("c", at.Add(-time.Hour)) {
		t.Error("another revision at the same time, or at an earlier one, is another connection")
	}
	if l := acquire(t, c, key); l.Revision != "c" {
		t.Errorf("want the one that was set last, got %s", l.Revision)
	}
}

// TestC4AnyClient: nothing is asked of a client.
func TestC4AnyClient(t *testing.T) {
	d := newDesk()
	d.set(key, "a", nil)
	text, err := NewManager[string](d).Get(t.Context(), boat, ref("a"))
	if err != nil || text.Client != "client a" {
		t.Errorf("got %q, %v", text.Client, err)
	}
	calls := NewCache(func(ctx context.Context, _ Key, in Input) (func() Revision, error) {
		return func() Revision { return in.Revision }, ctx.Err()
	}, CacheOptions[func() Revision]{})
	defer calls.Close()
	calls.Set(key, Input{Revision: "a"})
	lease, err := NewManager(calls).Get(t.Context(), boat, ref("a"))
	if err != nil || lease.Client() != "a" {
		t.Errorf("got %v", err)
	}
	lease.Release()
}

// TestC10OneTerm: what tells one connection from another is called revision, everywhere.
func TestC10OneTerm(t *testing.T) {
	for _, dir := range []string{".", "clientmanager", "clientmanagertest", "clusterstest"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
				continue
			}
			text, err := os.ReadFile(dir + "/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range []string{"config hash", "confighash", "config version", "generation of the connection"} {
				if strings.Contains(strings.ToLower(string(text)), other) {
					t.Errorf("%s/%s says %q", dir, f.Name(), other)
				}
			}
		}
	}
}
