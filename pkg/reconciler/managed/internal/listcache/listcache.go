// Package listcache shares lists and notifications among the objects of one kind on the same connection. A Cache
// records which objects use which connection and under which external name. It also holds the last list of each
// connection, and its subscription to changes. The Cache makes no calls and enqueues nothing: it returns which
// objects the caller should enqueue. Start with New.
//
// All methods may be called concurrently. Times are parameters, and may be of any clock.
package listcache

import (
	"iter"
	"sync"
	"time"
)

// A Key is the name of an object.
type Key struct{ Namespace, Name string }

// A Member is an object in the cache. NewMember makes one, and Join adds it to a connection. An object must have at
// most one Member at a time.
type Member struct {
	// Alone is true if the object has to be observed by its own call. Only the pass of the object uses it.
	Alone bool

	notified   bool // it was notified, and not observed since
	key        Key
	group      *group // nil: on no connection
	name       string
	next       *Member       // of the same name
	observedAt time.Duration // when the resource was last observed, changed or notified, since the cache was made
}

// NewMember returns the member of an object that is on no connection yet.
func NewMember(key Key) *Member { return &Member{key: key} }

// A Cache has the members of all objects of a kind, by connection. Make one with New.
type Cache struct {
	round, fresh time.Duration
	made         time.Time

	mu     sync.Mutex
	groups map[string]*group
}

// A group has the members of one connection.
type group struct {
	name     string
	revision string
	names    map[string]*Member // the first of each
	size     int

	list   *list         // the last one, while it can be used
	due    time.Time     // when the next may be begun
	pages  int           // of the last complete list
	took   time.Duration // the duration of that
	broken int           // consecutive incomplete lists

	watch  *Watch
	next   time.Time // when to subscribe again
	failed int       // consecutive failures
}

// New returns an empty cache. The argument round is the length of a round. The cache begins at most one list in each
// round. If round is not positive, there are no lists. The argument fresh is the maximum age of a list that serves
// objects. The argument made is the time at which the cache is made, and must be before all other times that are passed
// to the cache.
func New(round, fresh time.Duration, made time.Time) *Cache {
	return &Cache{round: round, fresh: fresh, made: made, groups: map[string]*group{}}
}

// Join adds an object to a connection under its external name, or moves the object there. If the revision differs
// from the last one, Join discards the list of the connection. An empty revision is unknown.
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

// Leave removes an object that is gone. The subscription of a connection ends with its last object.
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

// leave removes an object, and returns a function to be called without the lock.
func (r *Cache) leave(p *Member) (stop func()) {
	l := p.group
	l.remove(p)
	if l.size--; l.size > 0 {
		return func() {}
	}
	delete(r.groups, l.name)

	return l.unwatch()
}

// remove removes a member from its name.
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

// of returns all members with a name.
func (l *group) of(name string) iter.Seq[*Member] {
	return func(yield func(*Member) bool) {
		for p := l.names[name]; p != nil && yield(p); p = p.next {
		}
	}
}

// Touched records that the resource of the object was observed, or that a call that may have changed the resource has
// ended now. Earlier lists no longer serve the object.
func (r *Cache) Touched(p *Member, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.observedAt, p.notified = now.Sub(r.made), false
}

// Notified reports whether a notification said that the resource has changed, and the resource was not observed
// since.
func (r *Cache) Notified(p *Member) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return p.notified
}

// Size returns the number of objects in the cache, and the number of all other entries: connections, names and listed
// items.
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
