package listcache

import (
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// How long to wait before subscribing again, at first and at most.
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// A Watch is a subscription to what changes over a connection. It is one only
// until it is replaced or given up; what comes from it later is ignored.
type Watch struct {
	roll     *Cache
	line     *group
	revision string
	stop     func() // nil: it was not begun yet
	healthy  bool
	mute     bool // it was interrupted, maybe before it began
	since    time.Time
	before   *Watch // that it takes the place of
}

// Subscribe returns a Watch if somebody should subscribe for the connection of the
// object now: nobody has, or has under another revision. It is to be told whether it
// began.
func (r *Cache) Subscribe(p *Member, now time.Time) *Watch {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := p.group
	if now.Before(l.next) || l.watch != nil && (l.watch.stop == nil || l.watch.revision == l.revision) {
		return nil
	}
	l.watch = &Watch{roll: r, line: l, revision: l.revision, before: l.watch}

	return l.watch
}

// Begun says that the subscription stands, and what ends it.
func (w *Watch) Begun(stop func(), now time.Time) {
	w.roll.mu.Lock()
	current := w.line.watch == w
	if current {
		w.stop, w.healthy, w.since = stop, !w.mute, now
		w.line.failed, w.line.next = 0, time.Time{}
	}
	before := w.before
	w.before = nil
	w.roll.mu.Unlock()
	if before != nil {
		before.stop()
	}
	if !current {
		stop()
	}
}

// Failed says that it could not be made, and returns when to try again.
func (w *Watch) Failed(now time.Time) time.Duration {
	w.roll.mu.Lock()
	l := w.line
	after := min(firstRetry<<min(l.failed, 10), lastRetry)
	l.failed++
	l.next = now.Add(after)
	before := w.before
	w.before = nil
	if l.watch == w {
		l.watch = nil
	}
	w.roll.mu.Unlock()
	if before != nil {
		before.stop()
	}

	return after
}

// Interrupted says that notifications may be lost from now on, and returns whom they
// may be about.
func (w *Watch) Interrupted() []Key { return w.turns(false, time.Time{}) }

// Resumed says that notifications come again, and returns whom those may have been
// about that were lost.
func (w *Watch) Resumed(now time.Time) []Key { return w.turns(true, now) }

func (w *Watch) turns(healthy bool, now time.Time) []Key {
	w.roll.mu.Lock()
	defer w.roll.mu.Unlock()
	w.mute = !healthy
	if w.line.watch != w || w.stop == nil || w.healthy == healthy {
		return nil
	}
	w.healthy, w.since = healthy, now
	var keys []Key
	for name := range w.line.names {
		for p := range w.line.of(name) {
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

// Changed notes that what has an external name was changed, and returns whose it
// is: nobody's, for a name that is not known, and for none, which many may have who have
// no name yet. It is not ok if the subscription has ended.
func (w *Watch) Changed(name string, now time.Time) (keys []Key, ok bool) {
	w.roll.mu.Lock()
	defer w.roll.mu.Unlock()
	if w.line.watch != w {
		return nil, false
	}
	if name == "" {
		return nil, true
	}
	for p := range w.line.of(name) {
		p.observedAt, p.notified = now.Sub(w.roll.made), true
		keys = append(keys, p.key)
	}

	return keys, true
}

// Watched says whether whatever has happened to the resource of an object since it
// was last asked for has been told, and whatever happens will be.
func (r *Cache) Watched(p *Member) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := p.group.watch

	return w != nil && w.healthy && !p.notified && p.observedAt >= w.since.Sub(r.made)
}

// Watches returns how many connections are watched, and how many are not, at the
// moment.
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

// unwatch gives the subscription up, and returns what ends it.
func (l *group) unwatch() (stop func()) {
	w := l.watch
	l.watch = nil
	if w != nil && w.stop == nil { // it is being made, and ends when it was
		before := w.before
		w.before, w = nil, before
	}
	if w == nil {
		return func() {}
	}

	return w.stop
}
