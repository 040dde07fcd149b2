package listcache

import (
	"hash/fnv"
	"maps"
	"time"
)

// A list is what a connection showed, page by page.
type list struct {
	began, ended time.Time
	pages        int
	next         string         // where the next page begins
	items        map[string]any // by external name, of those who are on the roll
	room         int            // for so many of them
	twice        map[string]bool
	busy         bool // somebody is asking for a page
	whole        bool
}

const (
	// A list that takes more pages than this never ends.
	maxPages = 10_000

	// How long to wait at least for a list that somebody else is making.
	leastWait = 100 * time.Millisecond
)

// An Answer says how to look at an object.
type Answer int

// The answers.
const (
	// Alone: by a call of its own. What a list does not show may exist.
	Alone Answer = iota

	// Listed: it was shown.
	Listed

	// Wait: somebody is making a list.
	Wait

	// Turn: make the list, or go on with it. It must be given back.
	List
)

// A Lookup is what Consult returns.
type Lookup struct {
	Answer  Answer
	Item    any           // of Listed
	After   time.Duration // of Wait
	Listing *Listing      // of Turn
}

// A Listing is somebody's turn to ask for pages.
type Listing struct {
	roll *Cache
	line *group
	list *list

	// Next is where the next page begins; empty at the beginning.
	Next string
}

// Lookup says how to look at an object that needs no more than a look. A list
// counts only if it was begun after whatever happened to the object last, was ended,
// and is fresh. One is begun in each round, by whoever comes first, if there are more
// objects than it is likely to take pages. It ends with its round: those who Meet are not to
// find one that lasts no longer, or that was made for few.
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

	return Lookup{Answer: List, Listing: &Listing{roll: r, line: l, list: l.list, Next: l.list.next}}
}

// expire drops a list that is of no more use.
func (l *group) expire(now time.Time, r *Cache) {
	switch {
	case l.list == nil || l.list.busy:
	case l.list.whole && (now.Sub(l.list.ended) > r.fresh || !now.Before(l.due)):
		l.list = nil
	case !l.list.whole && now.Sub(l.list.began) > r.round:
		l.breaks(now, r)
	}
}

// breaks gives a list up. It is tried again more and more seldom.
func (l *group) breaks(now time.Time, r *Cache) {
	l.list = nil
	l.due = now.Add(r.round << min(l.broken, 3))
	l.broken++
}

// remaining returns how long to wait for the list that is being made: as long as the last
// one took, or half as long again.
func (l *group) remaining(now time.Time) time.Duration {
	age := now.Sub(l.list.began)
	if l.took > age {
		return max(l.took-age, leastWait)
	}

	return max(age/2, leastWait)
}

// shown returns what a list that was ended says of an object. What it showed is not
// kept once it has served.
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

// shrink gives back the room of what has served, which a map keeps.
func (l *list) shrink() {
	if len(l.items) > l.room/4 {
		return
	}
	rest := make(map[string]any, len(l.items))
	maps.Copy(rest, l.items)
	l.items, l.room = rest, len(rest)
}

// Add adds one that a page has. Names that nobody has are ignored; what comes
// under one name twice says nothing.
func (t *Listing) Add(name string, item any) {
	t.roll.mu.Lock()
	defer t.roll.mu.Unlock()
	if t.line.names[name] == nil {
		return
	}
	if _, ok := t.list.items[name]; ok {
		t.list.twice[name] = true
	}
	t.list.items[name] = item
}

// Advance ends a page, after which the next begins where it says; nowhere is the
// end of the list. It says whether there is more to ask for. An error of the list
// is told by Fail.
func (t *Listing) Advance(next string, now time.Time) (more, ok bool) {
	t.roll.mu.Lock()
	defer t.roll.mu.Unlock()
	t.list.pages++
	if next == "" {
		t.list.whole, t.list.ended, t.list.room = true, now, len(t.list.items)
		t.line.pages, t.line.took, t.line.broken = t.list.pages, now.Sub(t.list.began), 0

		return false, true
	}
	if next == t.Next || t.list.pages >= maxPages || now.Sub(t.list.began) > t.roll.round {
		return false, false
	}
	t.Next, t.list.next = next, next

	return true, true
}

// Fail ends a list that cannot be finished. There is none before the next round, and
// the more often that happens, the later.
func (t *Listing) Fail(now time.Time) {
	t.roll.mu.Lock()
	defer t.roll.mu.Unlock()
	if t.line.list == t.list {
		t.line.breaks(now, t.roll)
	}
}

// Return gives the turn back.
func (t *Listing) Return() {
	t.roll.mu.Lock()
	defer t.roll.mu.Unlock()
	t.list.busy = false
}

// AlignPoll returns when an object is to be looked at that is due at a certain time, so
// that all of a connection meet at the same list: in the last round of the
// connection before that time and a tolerance; a little later for each, which random
// in [0,1) says. It is not ok if there is no such round, or no list worth while.
// Whoever has met at a list that could not be made is sent apart again.
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

// roundOf returns when the round of a connection began that a time is in.
func roundOf(connection string, at time.Time, round time.Duration) time.Time {
	since := at.UnixNano()

	return time.Unix(0, since-(since-phase(connection, round))%int64(round))
}

// phase is another one for each connection, so that not all of them list at once.
func phase(connection string, round time.Duration) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(connection)) // it never fails

	return int64(h.Sum64() % uint64(round)) //nolint:gosec // less than a duration
}
