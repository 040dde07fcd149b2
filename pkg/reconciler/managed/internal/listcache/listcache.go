// Package listcache is for what the objects of one kind know together about the
// connections they use: who is on which, under which external name; what a list
// that they share has shown; and whether somebody tells what changes outside. It
// asks nobody and wakes nobody: it says whose turn it is to do so. Start with New.
//
// All methods may be called concurrently. Times are given, and may be of any clock.
package listcache

import (
	"iter"
	"sync"
	"time"
)

// A Key is the name of an object.
type Key struct{ Namespace, Name string }

// A Member is what is known of one object. Make one with NewPlace, for Join; an object is
// to have no more than one at a time.
type Member struct {
	// Alone is for whoever works on the object: it is to be observed singly.
	Alone bool

	notified   bool // somebody said that it has changed, and nobody has looked since
	key        Key
	group      *group // nil: it is on none
	name       string
	next       *Member       // of the same name
	observedAt time.Duration // since the roll was made, when what is outside was last asked for, changed, or said to have changed
}

// NewMember returns the place of an object that is on no connection yet.
func NewMember(key Key) *Member { return &Member{key: key} }

// A Cache knows the places of all objects of a kind that are on a connection. Make one
// with New.
type Cache struct {
	round, fresh time.Duration
	made         time.Time

	mu     sync.Mutex
	groups map[string]*group
}

// A group is a connection that objects use.
type group struct {
	name     string
	revision string
	names    map[string]*Member // the first of each
	size     int

	list   *list         // the last one, as long as it may be of use
	due    time.Time     // when the next may be begun
	pages  int           // that the last whole list had
	took   time.Duration // that it took
	broken int           // lists in a row that were not finished

	watch  *Watch
	next   time.Time // when to subscribe again
	failed int       // times in a row
}

// New returns an empty Roll. Lists are begun once in a round, and what they showed
// counts until they are older than fresh. A round that is not positive is for those
// who list nothing. It was made before anything that it will be told of.
func New(round, fresh time.Duration, made time.Time) *Cache {
	return &Cache{round: round, fresh: fresh, made: made, groups: map[string]*group{}}
}

// Join puts an object on a connection, under its external name, or moves it there.
// With another revision, lists of the connection are made anew; an empty one is not
// known.
func (r *Cache) Join(p *Member, connection, revision, name string) {
	r.mu.Lock()
	l := r.groups[connection]
	if l == nil {
		l = &group{name: connection, names: map[string]*Member{}}
		r.groups[connection] = l
	}
	if revision != "" && l.revision != revision {
		l.revision, l.list = revision, nil
	}
	stop := func() {}
	switch {
	case p.group == l && p.name == name:
		r.mu.Unlock()

		return
	case p.group == l:
		l.remove(p)
		l.size--
	case p.group != nil:
		stop = r.leave(p)
	}
	p.group, p.name, p.next = l, name, l.names[name]
	l.names[name] = p
	l.size++
	r.mu.Unlock()
	stop()
}

// Leave takes an object off that is gone. What only it needed is given up.
func (r *Cache) Leave(p *Member) {
	r.mu.Lock()
	stop := func() {}
	if p.group != nil {
		stop = r.leave(p)
	}
	p.group = nil
	r.mu.Unlock()
	stop()
}

// leave returns what is to be called when nothing is locked.
func (r *Cache) leave(p *Member) (stop func()) {
	l := p.group
	l.remove(p)
	if l.size--; l.size > 0 {
		return func() {}
	}
	delete(r.groups, l.name)

	return l.unwatch()
}

// of returns all that have a name.
func (l *group) of(name string) iter.Seq[*Member] {
	return func(yield func(*Member) bool) {
		for p := l.names[name]; p != nil && yield(p); p = p.next {
		}
	}
}

// remove takes an object off its name.
func (l *group) remove(p *Member) {
	if first := l.names[p.name]; first != p {
		for first.next != p {
			first = first.next
		}
		first.next = p.next

		return
	}
	if p.next != nil {
		l.names[p.name] = p.next

		return
	}
	delete(l.names, p.name)
	if l.list != nil {
		delete(l.list.items, p.name)
		delete(l.list.twice, p.name)
	}
}

// Touched notes that what is outside was asked for, or may have been changed by a
// call that has ended now. What was listed before says nothing about it any more.
func (r *Cache) Touched(p *Member, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.observedAt, p.notified = now.Sub(r.made), false
}

// Notified says whether somebody said that the resource has changed, and nobody has
// looked since.
func (r *Cache) Notified(p *Member) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return p.notified
}

// Size returns how many objects are on the roll, and how much is kept for them
// besides: connections, names and what lists have shown.
func (r *Cache) Size() (objects, besides int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.groups {
		objects += l.size
		besides += 1 + len(l.names)
		if l.list != nil {
			besides += len(l.list.items) + len(l.list.twice)
		}
	}

	return objects, besides
}
