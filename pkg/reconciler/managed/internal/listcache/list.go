package listcache

import (
	"hash/fnv"
	"maps"
	"time"
)

// A list is the result of listing a connection, page by page.
type list struct {
	began, ended time.Time
	pages        int
	next         string         // the token of the next page
	items        map[string]any // by external name, of registered objects
	room         int            // the number of items that the map was made for
	twice        map[string]bool
	busy         bool // a pass is reading a page
	whole        bool
}

const (
	// The largest number of pages. A longer list counts as endless.
	maxPages = 10_000

	// The least delay of an object that waits for the list of another pass.
	leastWait = 100 * time.Millisecond
)

// An Answer says how to observe an object.
type Answer int

// The answers.
const (
	// Alone means that the object needs its own call. A resource that is not listed may exist.
	Alone Answer = iota

	// Listed means that the item of a list is the observation.
	Listed

	// Wait means that another pass is listing, and the object is observed later.
	Wait

	// List means that the caller begins or continues a list. The caller must call Return of the Listing.
	List
)

// A Lookup is the result of Cache.Lookup.
type Lookup struct {
	Answer  Answer
	Item    any           // the item, if Answer is Listed
	After   time.Duration // the time to wait, if Answer is Wait
	Listing *Listing      // the permission to list, if Answer is List
}

// A Listing allows one pass to read pages of a list.
type Listing struct {
	cache *Cache
	group *group
	list  *list

	// Next is the token of the next page. It is empty for the first page.
	Next string
}

// Lookup returns how to observe an object that only needs to be observed.
//
// A list serves the object if three conditions hold. The list is complete. The list is not older than the cache allows.
// The list began after the last observation, change and notification of the object's resource.
//
// The first object of each round of polls begins a list, if the connection has more objects than the list probably has
// pages. The list expires at the end of its round. Objects whose polls AlignPoll has aligned therefore find no list of
// an earlier round, and no list that was made for a few objects.
func (r *Cache) Lookup(p *Member, now time.Time) Lookup {
	if r.round <= 0 {
		return Lookup{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()

	l := p.group
	l.expire(now, r)
	switch {
	case l.list == nil:
		if l.size <= max(l.pages, 1) || now.Before(l.due) {
			return Lookup{}
		}
		l.list = &list{began: now, items: map[string]any{}, twice: map[string]bool{}}
		l.due = roundOf(l.name, now, r.round).Add(r.round)
	case l.list.began.Sub(r.made) <= p.observedAt:
		return Lookup{}
	case l.list.whole:
		return l.shown(p)
	case l.list.busy:
		return Lookup{Answer: Wait, After: l.remaining(now)}
	}
	l.list.busy = true

	return Lookup{Answer: List, Listing: &Listing{cache: r, group: l, list: l.list, Next: l.list.next}}
}

// expire drops a list that cannot be used any more.
func (l *group) expire(now time.Time, r *Cache) {
	switch {
	case l.list == nil || l.list.busy:
	case l.list.whole && (now.Sub(l.list.ended) > r.fresh || !now.Before(l.due)):
		l.list = nil
	case !l.list.whole && now.Sub(l.list.began) > r.round:
		l.drop(now, r)
	}
}

// shown returns the Lookup of an object from a complete list. It removes the item from the list, because each item is
// used once.
func (l *group) shown(p *Member) Lookup {
	item, ok := l.list.items[p.name]
	if !ok || l.list.twice[p.name] {
		return Lookup{}
	}
	if l.names[p.name].next == nil {
		delete(l.list.items, p.name)
		l.list.shrink()
	}

	return Lookup{Answer: Listed, Item: item}
}

// shrink releases the memory of used items, which a map keeps.
func (l *list) shrink() {
	if len(l.items) > l.room/4 {
		return
	}
	rest := make(map[string]any, len(l.items))
	maps.Copy(rest, l.items)
	l.items, l.room = rest, len(rest)
}

// remaining returns how long to wait for the list of another pass. That is the rest of the time that the last list
// took, or half of the age of the current list.
func (l *group) remaining(now time.Time) time.Duration {
	age := now.Sub(l.list.began)
	if l.took > age {
		return max(l.took-age, leastWait)
	}

	return max(age/2, leastWait)
}

// Advance ends a page. The argument next is the token of the next page. An empty token ends the list. Advance returns
// whether there are more pages. If ok is false, the list is invalid, and the caller has to call Fail.
func (t *Listing) Advance(next string, now time.Time) (more, ok bool) {
	t.cache.mu.Lock()
	defer t.cache.mu.Unlock()
	t.list.pages++
	if next == "" {
		t.list.whole, t.list.ended, t.list.room = true, now, len(t.list.items)
		t.group.pages, t.group.took, t.group.broken = t.list.pages, now.Sub(t.list.began), 0

		return false, true
	}
	if next == t.Next || t.list.pages >= maxPages || now.Sub(t.list.began) > t.cache.round {
		return false, false
	}
	t.Next, t.list.next = next, next

	return true, true
}

// Fail ends an incomplete list. The next list begins in a later round, with backoff.
func (t *Listing) Fail(now time.Time) {
	t.cache.mu.Lock()
	defer t.cache.mu.Unlock()
	if t.group.list == t.list {
		t.group.drop(now, t.cache)
	}
}

// drop drops an incomplete list. The next one is begun with backoff.
func (l *group) drop(now time.Time, r *Cache) {
	l.list = nil
	l.due = now.Add(r.round << min(l.broken, 3))
	l.broken++
}

// Return ends the permission of the pass to read pages.
func (t *Listing) Return() {
	t.cache.mu.Lock()
	defer t.cache.mu.Unlock()
	t.list.busy = false
}

// AlignPoll returns when to poll an object, so that all objects of a connection use the same list. The result is the
// beginning of a round plus a small jitter. The round is the last round of the connection that begins before
// due+tolerance. The argument random is in [0,1) and determines the jitter.
//
// If no such round begins after now, or the connection has too few objects for a list, AlignPoll returns due and false.
// If the last list has failed, AlignPoll adds a large jitter to due, so that the objects are not polled all at once.
func (r *Cache) AlignPoll(connection string, now, due time.Time, tolerance time.Duration,
	random float64) (at time.Time, ok bool) {
	r.mu.Lock()
	l := r.groups[connection]
	broken, few := l != nil && l.broken > 0, l != nil && l.size <= max(l.pages, 1)
	r.mu.Unlock()
	switch {
	case r.round <= 0 || few:
		return due, false
	case broken:
		return due.Add(time.Duration((random - 0.5) * float64(due.Sub(now)) / 2)), true
	}
	round := roundOf(connection, due.Add(tolerance), r.round)
	if !round.After(now) {
		return due, false
	}

	return round.Add(time.Duration(random * float64(r.fresh) / 2)), true
}

// Add adds an item of a page. It ignores names without an object. A name that is listed twice counts as not listed.
func (t *Listing) Add(name string, item any) {
	t.cache.mu.Lock()
	defer t.cache.mu.Unlock()
	if t.group.names[name] == nil {
		return
	}
	if _, ok := t.list.items[name]; ok {
		t.list.twice[name] = true
	}
	t.list.items[name] = item
}

// roundOf returns the beginning of the connection's round that contains the given time.
func roundOf(connection string, at time.Time, round time.Duration) time.Time {
	since := at.UnixNano()

	return time.Unix(0, since-(since-phase(connection, round))%int64(round))
}

// phase returns the offset of the rounds of a connection, so that not all connections list at once.
func phase(connection string, round time.Duration) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(connection)) // it never fails

	return int64(h.Sum64() % uint64(round)) // less than a duration
}
