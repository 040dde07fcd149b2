package clusters

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestCacheReplacesConnection verifies that another revision ends the leases on the
// connection before, which is closed when they are released. The same revision changes
// nothing.
func TestCacheReplacesConnection(t *testing.T) {
	f := &connector{}
	c := f.cache(t, CacheOptions[string]{})
	var notified []Key
	stop := c.Listen(func(k Key) { notified = append(notified, k) })

	if _, err := c.Acquire(t.Context(), key); !errors.Is(err, ErrNotFound) {
		t.Errorf("want %v, got %v", ErrNotFound, err)
	}
	if !c.Set(key, Input{Revision: "a"}) || c.Set(key, Input{Revision: "a"}) {
		t.Error("the first Set is a change, the second one is none")
	}
	first, second := acquire(t, c, key), acquire(t, c, key)
	if first.Client != "a#1" || second.Client != "a#1" || first.Revision != "a" {
		t.Errorf("want one connection for both, got %s and %s", first.Client, second.Client)
	}

	c.Set(key, Input{Revision: "b"})
	if !errors.Is(context.Cause(first.Context), ErrReplaced) {
		t.Errorf("want the lease ended because of %v, got %v", ErrReplaced, context.Cause(first.Context))
	}
	first.Release()
	if len(f.closed) != 0 {
		t.Errorf("closed while a lease is in use: %v", f.closed)
	}
	second.Release()
	second.Release()
	third := acquire(t, c, key)
	if third.Client != "b#2" || third.Context.Err() != nil {
		t.Errorf("want b#2, got %s, %v", third.Client, third.Context.Err())
	}

	c.Fail(key, errBoom)
	c.Fail(key, errors.New("boom"))
	if _, _, err := c.Get(t.Context(), key); !errors.Is(err, errBoom) || third.Context.Err() == nil {
		t.Errorf("want %v and an ended lease, got %v, %v", errBoom, err, third.Context.Err())
	}
	third.Release()
	c.Drop(key)
	c.Drop(key)
	stop()
	c.Set(key, Input{Revision: "c"})
	if diff := cmp.Diff([]Key{key, key, key, key}, notified); diff != "" {
		t.Errorf("want one notification for each of Set, Set, Fail and Drop: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a#1", "b#2"}, f.closed); diff != "" {
		t.Errorf("closed: -want +got:\n%s", diff)
	}
}

// TestCacheExpires verifies that leases end when the credentials expire, that listeners
// are notified, and that Acquire fails afterwards.
func TestCacheExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &connector{}
		c := f.cache(t, CacheOptions[string]{})
		c.Set(key, Input{Revision: "a", Expires: time.Now().Add(time.Hour)})
		notified := make(chan Key, 1)
		defer c.Listen(func(k Key) { notified <- k })()
		l := acquire(t, c, key)
		<-l.Context.Done()
		if k := <-notified; k != key || !errors.Is(context.Cause(l.Context), ErrExpired) {
			t.Errorf("want a notification of %s because of %v, got %s, %v", key, ErrExpired, k, context.Cause(l.Context))
		}
		if _, err := c.Acquire(t.Context(), key); !errors.Is(err, ErrExpired) {
			t.Errorf("want %v, got %v", ErrExpired, err)
		}
		l.Release()
		if len(f.closed) != 1 {
			t.Errorf("want it closed, got %v", f.closed)
		}
		c.Set(key, Input{Revision: "b", Expires: time.Now().Add(time.Hour)})
		acquire(t, c, key).Release()
	})
}

// TestCacheReplacedWhileBuilt verifies that a caller that waits for a connection which is
// replaced meanwhile gets the new one.
func TestCacheReplacedWhileBuilt(t *testing.T) {
	f := &connector{}
	c := f.cache(t, CacheOptions[string]{})
	c.Set(key, Input{Revision: "a"})
	var once sync.Once
	f.onBuild = func(context.Context) { once.Do(func() { c.Set(key, Input{Revision: "b"}) }) }
	l := acquire(t, c, key)
	defer l.Release()
	if l.Revision != "b" {
		t.Errorf("want the new one, got %s", l.Client)
	}
}

// TestCacheBuildsEachRevisionOnce verifies that no revision is connected twice under
// concurrent replacements, and that each connection is closed.
func TestCacheBuildsEachRevisionOnce(t *testing.T) {
	f := &connector{}
	c := f.cache(t, CacheOptions[string]{})
	c.Set(key, Input{Revision: "0"})
	ctx, stop := context.WithCancel(t.Context())
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			for ctx.Err() == nil {
				if l, err := c.Acquire(context.Background(), key); err == nil {
					l.Release()
				}
				runtime.Gosched()
			}
		})
	}
	for r := range 10_000 {
		c.Set(key, Input{Revision: Revision(fmt.Sprint(r + 1))})
		acquire(t, c, key).Release()
	}
	stop()
	users.Wait()
	c.Close()
	builds := map[string]int{}
	for _, name := range f.built {
		revision, _, _ := strings.Cut(name, "#")
		if builds[revision]++; builds[revision] > 1 {
			t.Errorf("revision %s was connected %d times", revision, builds[revision])
		}
	}
	if len(f.closed) != len(f.built) {
		t.Errorf("%d connections were made, %d closed", len(f.built), len(f.closed))
	}
}

func TestCacheBuildFails(t *testing.T) {
	f := &connector{err: errBoom}
	c := f.cache(t, CacheOptions[string]{})
	c.Set(key, Input{Revision: "a"})
	if _, err := c.Acquire(t.Context(), key); !errors.Is(err, errBoom) {
		t.Errorf("want %v, got %v", errBoom, err)
	}
	c.Close()
	c.Set(key, Input{Revision: "b"})
	if _, err := c.Acquire(t.Context(), key); !errors.Is(err, connection.ErrClosed) {
		t.Errorf("want %v, got %v", connection.ErrClosed, err)
	}
}

// TestCacheClosesIdleConnections verifies that unused connections are closed, and made
// again on demand.
func TestCacheClosesIdleConnections(t *testing.T) {
	f, clk := &connector{}, testclock.NewFakePassiveClock(time.Unix(0, 0))
	c := f.cache(t, CacheOptions[string]{Idle: time.Minute, Clock: clk})
	other := Key{Name: "west"}
	c.Set(key, Input{Revision: "a"})
	c.Set(other, Input{Revision: "b"})
	acquire(t, c, key).Release()
	clk.SetTime(clk.Now().Add(2 * time.Minute))
	acquire(t, c, other).Release()
	if diff := cmp.Diff([]string{"a#1"}, f.closed); diff != "" {
		t.Errorf("closed: -want +got:\n%s", diff)
	}
	acquire(t, c, key).Release()
	if len(f.built) != 3 {
		t.Errorf("want it built again, got %v", f.built)
	}
}

// TestCacheReport verifies that a cluster is unhealthy after the given number of
// consecutive failures.
func TestCacheReport(t *testing.T) {
	c := (&connector{}).cache(t, CacheOptions[string]{FailureThreshold: 3})
	if h := c.Report(key, nil); h.Healthy || !errors.Is(h.Err, ErrNotFound) {
		t.Errorf("unknown: %+v", h)
	}
	c.Set(key, Input{Revision: "a"})
	for i, step := range []struct {
		err  error
		want Health
	}{
		{nil, Health{Healthy: true}},
		{errBoom, Health{Healthy: true, Failures: 1, Err: errBoom}},
		{errBoom, Health{Healthy: true, Failures: 2, Err: errBoom}},
		{nil, Health{Healthy: true}},
		{errBoom, Health{Healthy: true, Failures: 1, Err: errBoom}},
		{errBoom, Health{Healthy: true, Failures: 2, Err: errBoom}},
		{errBoom, Health{Failures: 3, Err: errBoom}},
		{errBoom, Health{Failures: 4, Err: errBoom}},
		{nil, Health{Healthy: true}},
	} {
		if got := c.Report(key, step.err); got != step.want {
			t.Errorf("step %d: want %+v, got %+v", i, step.want, got)
		}
	}
	c.Fail(key, errBoom)
	if h := c.Report(key, nil); h.Healthy || !errors.Is(h.Err, errBoom) {
		t.Errorf("failed: %+v", h)
	}
}

// TestCacheEndsLeasesFirst verifies that the same revision cannot be set again, and get
// another connection, before the leases on it have ended.
func TestCacheEndsLeasesFirst(t *testing.T) {
	for name, change := range map[string]func(c *Cache[string]){
		"Set":   func(c *Cache[string]) { c.Set(key, Input{Revision: "b"}) },
		"Fail":  func(c *Cache[string]) { c.Fail(key, errBoom) },
		"Drop":  func(c *Cache[string]) { c.Drop(key) },
		"Close": func(c *Cache[string]) { c.Close() },
	} {
		c := (&connector{}).cache(t, CacheOptions[string]{})
		c.Set(key, Input{Revision: "a"})
		lease := acquire(t, c, key)
		end := c.entries[key].cancel
		c.entries[key].cancel = func(cause error) {
			if c.mu.TryLock() {
				c.mu.Unlock()
				t.Errorf("%s: another one can be set before the leases on this one end", name)
			}
			end(cause)
		}
		change(c)
		if !errors.Is(context.Cause(lease.Context), ErrReplaced) {
			t.Errorf("%s: want the lease ended because of %v, got %v", name, ErrReplaced, context.Cause(lease.Context))
		}
		lease.Release()
	}
}
