package listcache

import (
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// The delays before a retry, at first and at most.
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// A Watch is a subscription to the changes on a connection. Notifications after its end or replacement are ignored.
type Watch struct {
	cache    *Cache
	group    *group
	revision string
	stop     func() // nil: it was not begun yet
	healthy  bool
	mute     bool // it was interrupted, possibly before it began
	since    time.Time
	before   *Watch // the subscription that it replaces
}

// Subscribe returns a Watch if the caller should subscribe for the connection of the object now, and nil otherwise. The
// caller should subscribe if there is no subscription, or only one for another revision. A caller that gets a Watch
// must call its method Begun or Failed.
func (r *Cache) Subscribe(p *Member, now time.Time) *Watch {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := p.group
	if now.Before(l.next) || l.watch != nil && (l.watch.stop == nil || l.watch.revision == l.revision) {
		return nil
	}
	l.watch = &Watch{cache: r, group: l, revision: l.revision, before: l.watch}

	return l.watch
}

// Begun records that the subscription works. The function stop ends the subscription.
func (w *Watch) Begun(stop func(), now time.Time) {
	w.cache.mu.Lock()
	current := w.group.watch == w
	if current {
		w.stop, w.healthy, w.since = stop, !w.mute, now
		w.group.failed, w.group.next = 0, time.Time{}
	}
	before := w.before
	w.before = nil
	w.cache.mu.Unlock()
	if before != nil {
		before.stop()
	}
	if !current {
		stop()
	}
}

// Failed records that the subscription failed, and returns when to retry.
func (w *Watch) Failed(now time.Time) time.Duration {
	w.cache.mu.Lock()
	l := w.group
	after := min(firstRetry<<min(l.failed, 10), lastRetry)
	l.failed++
	l.next = now.Add(after)
	before := w.before
	w.before = nil
	if l.watch == w {
		l.watch = nil
	}
	w.cache.mu.Unlock()
	if before != nil {
		before.stop()
	}

	return after
}

// Interrupted records that notifications may be lost from now on, and returns the affected objects.
func (w *Watch) Interrupted() []Key { return w.setHealthy(false, time.Time{}) }

// Resumed records that notifications arrive again. It returns the objects whose notifications may have been lost.
func (w *Watch) Resumed(now time.Time) []Key { return w.setHealthy(true, now) }

func (w *Watch) setHealthy(healthy bool, now time.Time) []Key {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.mute = !healthy
	if w.group.watch != w || w.stop == nil || w.healthy == healthy {
		return nil
	}
	w.healthy, w.since = healthy, now
	var keys []Key
	for name := range w.group.names {
		for p := range w.group.of(name) {
			keys = append(keys, p.key)
		}
	}
	slices.SortFunc(keys, compare) // so that a run can be repeated

	return keys
}

func compare(a, b Key) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}

	return strings.Compare(a.Name, b.Name)
}

// Changed records that the resource with an external name has changed, and returns the keys of the objects with that
// name. It returns none for an unknown name, or for the empty name, which many objects may have. If the subscription
// has ended, ok is false.
func (w *Watch) Changed(name string, now time.Time) (keys []Key, ok bool) {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	if w.group.watch != w {
		return nil, false
	}
	if name == "" {
		return nil, true
	}
	for p := range w.group.of(name) {
		p.observedAt, p.notified = now.Sub(w.cache.made), true
		keys = append(keys, p.key)
	}

	return keys, true
}

// Watched reports whether the subscription covers the object. That is the case if the subscription has worked since the
// last observation of the resource, works now, and has reported no change since that observation.
func (r *Cache) Watched(p *Member) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := p.group.watch

	return w != nil && w.healthy && !p.notified && p.observedAt >= w.since.Sub(r.made)
}

// Watches returns the numbers of connections with and without a working subscription.
func (r *Cache) Watches() (healthy, unhealthy int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.groups {
		if l.watch != nil && l.watch.healthy {
			healthy++
		} else {
			unhealthy++
		}
	}

	return healthy, unhealthy
}

// Close ends all subscriptions.
func (r *Cache) Close() {
	r.mu.Lock()
	var stops []func()
	for _, name := range slices.Sorted(maps.Keys(r.groups)) {
		stops = append(stops, r.groups[name].unwatch())
	}
	r.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// unwatch removes the subscription, and returns a function that ends it.
func (l *group) unwatch() (stop func()) {
	w := l.watch
	l.watch = nil
	if w != nil && w.stop == nil { // it is ended once it has begun
		before := w.before
		w.before, w = nil, before
	}
	if w == nil {
		return func() {}
	}

	return w.stop
}
