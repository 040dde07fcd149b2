package clusters

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCacheComparesRevisionsOnly verifies that another revision is another connection,
// and another time is none.
func TestCacheComparesRevisionsOnly(t *testing.T) {
	f := &connector{}
	c := f.cache(t, CacheOptions[string]{})
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

// TestManagerAnyClientType verifies that a client may be of any type.
func TestManagerAnyClientType(t *testing.T) {
	p := newFakeProvider()
	p.set(key, "a", nil)
	text, err := NewManager[string](p).Get(t.Context(), object, ref("a"))
	if err != nil || text.Client != "client a" {
		t.Errorf("got %q, %v", text.Client, err)
	}
	calls := NewCache(func(ctx context.Context, _ Key, in Input) (func() Revision, error) {
		return func() Revision { return in.Revision }, ctx.Err()
	}, CacheOptions[func() Revision]{})
	defer calls.Close()
	calls.Set(key, Input{Revision: "a"})
	lease, err := NewManager(calls).Get(t.Context(), object, ref("a"))
	if err != nil || lease.Client() != "a" {
		t.Errorf("got %v", err)
	}
	lease.Release()
}

// TestTermRevision verifies that no other term than revision is used for the version of a
// connection.
func TestTermRevision(t *testing.T) {
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
