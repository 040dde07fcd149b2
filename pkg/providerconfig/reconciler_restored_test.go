package providerconfig

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestRewound: an API server that was restored to an older state gives out versions that
// are lower than those of the writes which this process remembers. Neither the count of
// users nor a deletion waits until they have caught up, and few requests are sent.
func TestRewound(t *testing.T) {
	const (
		before = "1500" // version of the snapshot
		after  = "2500" // version that the process has seen
	)
	at := func(version string, change ...func(*Tenant)) *Tenant {
		w := tenant("a", "main")
		w.UID, w.ResourceVersion, w.Finalizers = "uid", version, []string{FinalizerName}
		for _, do := range change {
			do(w)
		}

		return w
	}
	users := func(w *Tenant) { w.Status.Users = 7 }

	cases := map[string]struct {
		reason   string
		restored *Tenant
		cached   *Tenant // after the restore, if that is not what the server has
		restart  bool    // of the process
		gets     int
	}{
		"CacheListedAnew": {"the cache shows what was restored", at(before, users), nil, false, 1},
		"CacheDoesNotKnow": {
			"the watch waits for versions of the time before: what is written by the cache conflicts", at(before),
			at("3500"), false, 1,
		},
		"OldStatus": {"the number of users is restored as well",
			at(before, func(w *Tenant) { w.Status.Users = 2 }), nil, false, 1},
		"WithoutOurs": {"the snapshot is older than our finalizer",
			at(before, func(w *Tenant) { w.Finalizers = nil }), nil, false, 1},
		"ProcessRestart": {"a process that has seen nothing asks nobody", at(before, users), nil, true, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newFixture(t, at(after))
			w := tenant("a", "main")
			p.use(bucket("a", "one", "", "main"))
			p.pass(w)
			p.wantUsers(w, 1)

			one, two := bucket("a", "one", "", "main"), bucket("a", "two", "", "main")
			p.restore(tc.restored, one)
			p.stale = tc.cached
			p.use(two)
			if tc.restart {
				p.rs["Tenant"].records = records.New[record](nil)
			}
			p.writes = nil
			p.passes(w, 10*time.Second)
			p.stale = nil
			p.wantUsers(w, 2)
			if !meta.FinalizerExists(w, FinalizerName) {
				t.Error("nothing protects it")
			}
			if p.gets != tc.gets || len(p.writes) > 5 {
				t.Errorf("%s: %d reads of the API server, want %d, and the writes %v", tc.reason, p.gets, tc.gets,
					p.writes)
			}

			p.writes, p.gets = nil, 0
			p.passes(w, 10*time.Minute)
			p.wantWrites("steady")
			p.sink(one)
			p.sink(two)
			p.remove(w)
			p.passes(w, 10*time.Second)
			if p.load(w) {
				t.Error("it stays when nobody uses it")
			}
			if p.gets != 0 {
				t.Errorf("%s: %d reads of the API server once it is known, want none", tc.reason, p.gets)
			}
		})
	}
}

// TestReleasedAndRewound: a configuration that was let go, and that the restore of the API
// server has brought back as it was, is let go again; by a server whose 404 is not about
// it, too.
func TestReleasedAndRewound(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.pass(w)
	p.remove(w)
	p.load(w)
	released := w.DeepCopyObject().(*Tenant)
	p.pass(w)
	if p.load(w) {
		t.Fatal("nobody uses it")
	}

	p.restore(released)
	p.writes = nil
	p.passes(w, 10*time.Second)
	if p.load(w) {
		t.Error("it stays when nobody uses it")
	}
	p.wantWrites("once more", "patch main")
	if p.gets != 1 {
		t.Errorf("%d reads of the API server, want one", p.gets)
	}
}

// TestCacheThatStays: a cache that stays behind is not waited for, and what the API server
// has is asked for once in three seconds at most.
func TestCacheThatStays(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.pass(w)
	p.load(w)
	p.stale = w.DeepCopyObject().(*Tenant)
	p.use(bucket("a", "one", "", "main"))
	p.pass(w)
	p.use(bucket("a", "two", "", "main"))
	p.clock.SetTime(p.clock.Now().Add(5 * time.Second))
	for range 100 { // for each of a hundred users that come and go within a moment
		p.pass(w)
	}
	if p.gets != 0 {
		t.Errorf("%d reads of the API server at once, want none", p.gets)
	}
	p.passes(w, 4*time.Second)
	if p.stale = nil; p.gets != 1 {
		t.Errorf("%d reads of the API server, want one", p.gets)
	}
	p.wantUsers(w, 2)
}

// TestCacheThatCatchesUp: a cache that is a little behind is waited for, each time.
func TestCacheThatCatchesUp(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.pass(w)
	for i := range 10 {
		p.load(w)
		p.stale = w.DeepCopyObject().(*Tenant)
		p.use(bucket("a", fmt.Sprint("bucket-", i), "", "main"))
		for range 3 { // one that writes, and two that do nothing
			p.pass(w)
			p.clock.SetTime(p.clock.Now().Add(retryDelay))
		}
		p.stale = nil
		p.passes(w, 10*time.Second)
		p.wantUsers(w, int64(i+1))
	}
	if p.gets != 0 {
		t.Errorf("%d reads of the API server, want none", p.gets)
	}
}

// TestGoneWithoutEvent: what the API server does not have any more is forgotten, although
// the cache still shows it.
func TestGoneWithoutEvent(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.pass(w)
	p.remove(w)
	p.load(w)
	p.stale = w.DeepCopyObject().(*Tenant)
	p.pass(w)
	p.passes(w, 10*time.Second)
	if p.gets != 1 || p.rs["Tenant"].records.Len() != 0 {
		t.Errorf("%d reads of the API server, want one, and %d configurations in memory, want none", p.gets,
			p.rs["Tenant"].records.Len())
	}
	p.wantWrites("the finalizer is taken away once", "patch main", "patch main")
}

// passes runs passes for as long as that takes, each when the one before asked for it.
func (p *fixture) passes(c Config, whole time.Duration) {
	p.Helper()
	for end := p.clock.Now().Add(whole); p.clock.Now().Before(end); {
		result := p.pass(c)
		if result == (reconcile.Result{}) {
			return
		}
		p.clock.SetTime(p.clock.Now().Add(max(result.RequeueAfter, retryDelay)))
	}
}
