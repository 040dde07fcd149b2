// Package roll is for what the objects of one kind know together about the
// connections they use: who is on which, under which external name; what a list
// that they share has shown; and whether somebody tells what changes outside. It
// asks nobody and wakes nobody: it says whose turn it is to do so. Start with New.
//
// All methods may be called concurrently. Times are given, and may be of any clock.
package roll

import (
	"iter"
	"sync"
	"time"
)

// A Key is the name of an object.
type Key struct{ Namespace, Name string }

// A Place is what is known of one object. Make one with NewPlace, for Join; an object is
// to have no more than one at a time.
type Place struct {
	// Alone is for whoever works on the object: it is to be observed singly.
	Alone bool

	told  bool // somebody said that it has changed, and nobody has looked since
	key   Key
	line  *line // nil: it is on none
	name  string
	next  *Place        // of the same name
	asked time.Duration // since the roll was made, when what is outside was last asked for, changed, or said to have changed
}

// NewPlace returns the place of an object that is on no connection yet.
func NewPlace(key Key) *Place { return &Place{key: key} }

// A Roll knows the places of all objects of a kind that are on a connection. Make one
// with New.
type Roll struct {
	round, fresh time.Duration
	made         time.Time

	mu    sync.Mutex
	lines map[string]*line
}

// A line is a connection that objects use.
type line struct {
	name     string
	revision string
	names    map[string]*Place // the first of each
	places   int

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
func New(round, fresh time.Duration, made time.Time) *Roll {
	return &Roll{round: round, fresh: fresh, made: made, lines: map[string]*line{}}
}

// Join puts an object on a connection, under its external name, or moves it there.
// With another revision, lists of the connection are made anew; an empty one is not
// known.
func (r *Roll) Join(p *Place, connection, revision, name string) {
	r.mu.Lock()
	l := r.lines[connection]
	if l == nil {
		l = &line{name: connection, names: map[string]*Place{}}
		r.lines[connection] = l
	}
	if revision != "" && l.revision != revision {
		l.revision, l.list = revision, nil
	}
	stop := func() {}
	switch {
	case p.line == l && p.name == name:
		r.mu.Unlock()

		return
	case p.line == l:
		l.strike(p)
		l.places--
	case p.line != nil:
		stop = r.leave(p)
	}
	p.line, p.name, p.next = l, name, l.names[name]
	l.names[name] = p
	l.places++
	r.mu.Unlock()
	stop()
}

// Leave takes an object off that is gone. What only it needed is given up.
func (r *Roll) Leave(p *Place) {
	r.mu.Lock()
	stop := func() {}
	if p.line != nil {
		stop = r.leave(p)
	}
	p.line = nil
	r.mu.Unlock()
	stop()
}

// leave returns what is to be called when nothing is locked.
func (r *Roll) leave(p *Place) (stop func()) {
	l := p.line
	l.strike(p)
	if l.places--; l.places > 0 {
		return func() {}
	}
	delete(r.lines, l.name)

	return l.unwatch()
}

// of returns all that have a name.
func (l *line) of(name string) iter.Seq[*Place] {
	return func(yield func(*Place) bool) {
		for p := l.names[name]; p != nil && yield(p); p = p.next {
		}
	}
}

// strike takes an object off its name.
func (l *line) strike(p *Place) {
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
func (r *Roll) Touched(p *Place, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.asked, p.told = now.Sub(r.made), false
}

// Told says whether somebody said that the resource has changed, and nobody has
// looked since.
func (r *Roll) Told(p *Place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return p.told
}

// Size returns how many objects are on the roll, and how much is kept for them
// besides: connections, names and what lists have shown.
func (r *Roll) Size() (objects, besides int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		objects += l.places
		besides += 1 + len(l.names)
		if l.list != nil {
			besides += len(l.list.items) + len(l.list.twice)
		}
	}

	return objects, besides
}
