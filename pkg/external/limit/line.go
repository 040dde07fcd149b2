package limit

import (
	"slices"
	"time"
)

// A Class says how urgent a call is.
type Class int

// The classes, the least urgent one first.
const (
	// Poll is for looking at what was as it should be.
	Poll Class = iota
	// Retry is for what failed.
	Retry
	// Progress is for what is being made, changed or deleted outside.
	Progress
	// User is for what a user waits for: a change of an object, and its deletion.
	User

	classes = int(User) + 1
)

// share is how many calls there are for one of a lower class.
const share = 10

// A waiter is a request in the line.
type waiter struct {
	Request
	since    time.Time
	waited   bool
	patience time.Duration // how long it was said to wait at most
	// decided is closed when there is a call or an error.
	decided chan struct{}
	call    *call
	err     error
}

func (w *waiter) admit(c *call) {
	w.call = c
	close(w.decided)
}

func (w *waiter) refuse(err error) {
	w.err = err
	close(w.decided)
}

// A line is those who wait. The zero value is empty.
type line struct {
	lanes  [classes]lane
	count  int
	passed int // how often a lower class had to wait since its last turn
}

// A lane is those of one class, by namespace. Turns has the namespaces in the order
// in which they are next; in a namespace, who wanted to call first is first.
type lane struct {
	turns   []string
	waiting map[string][]*waiter
}

// lane returns where a class waits. A class that does not exist is the nearest.
func (l *line) lane(c Class) *lane { return &l.lanes[min(max(int(c), 0), classes-1)] }

func (l *line) join(w *waiter) {
	lane := l.lane(w.Class)
	if lane.waiting == nil {
		lane.waiting = map[string][]*waiter{}
	}
	queue := lane.waiting[w.Namespace]
	if len(queue) == 0 {
		lane.turns = append(lane.turns, w.Namespace)
	}
	lane.waiting[w.Namespace] = slices.Insert(queue, lane.place(w), w)
	l.count++
}

// place is how many of the same namespace go before w.
func (l *lane) place(w *waiter) int {
	queue := l.waiting[w.Namespace]
	place := len(queue)
	for place > 0 && queue[place-1].since.After(w.since) {
		place--
	}

	return place
}

// ahead is how many go before w if it joins.
func (l *line) ahead(w *waiter) int {
	own := l.lane(w.Class)
	rounds := own.place(w)
	ahead := rounds
	for namespace, queue := range own.waiting {
		if namespace != w.Namespace {
			ahead += min(len(queue), rounds+1)
		}
	}
	for class := w.Class + 1; int(class) < classes; class++ {
		for _, queue := range l.lane(class).waiting {
			ahead += len(queue)
		}
	}

	return ahead
}

// next takes out of the line who goes next, or returns how long it is until
// somebody may. Ready says how long that is for the classes.
func (l *line) next(ready func(Class) time.Duration) (*waiter, time.Duration) {
	top := User
	for len(l.lane(top).turns) == 0 {
		top--
	}
	w := l.oldestBelow(top)
	turn := w != nil && l.passed == share-1
	// Whose turn it is goes in the place of a user, and may take what is kept for
	// users: they would leave nothing else.
	if wait := ready(top); wait > 0 {
		return nil, wait
	}
	switch {
	case turn:
		l.passed = 0
	case w != nil:
		l.passed++
	}
	if !turn {
		lane := l.lane(top)
		w = lane.waiting[lane.turns[0]][0]
	}
	l.leave(w)

	return w, 0
}

// oldestBelow returns who has waited for longest in the lanes below a class.
func (l *line) oldestBelow(top Class) *waiter {
	var oldest *waiter
	for class := Poll; class < top; class++ {
		for _, namespace := range l.lane(class).turns {
			if w := l.lane(class).waiting[namespace][0]; oldest == nil || w.since.Before(oldest.since) {
				oldest = w
			}
		}
	}

	return oldest
}

// leave takes somebody out, after whom it is the turn of another namespace.
func (l *line) leave(w *waiter) {
	lane := l.lane(w.Class)
	queue := lane.waiting[w.Namespace]
	i := slices.Index(queue, w)
	if i < 0 {
		return
	}
	l.count--
	turn := slices.Index(lane.turns, w.Namespace)
	lane.turns = slices.Delete(lane.turns, turn, turn+1)
	if len(queue) == 1 {
		delete(lane.waiting, w.Namespace)

		return
	}
	lane.waiting[w.Namespace] = slices.Delete(queue, i, i+1)
	lane.turns = append(lane.turns, w.Namespace)
}

// clear takes all out, the most urgent ones first.
func (l *line) clear() []*waiter {
	var all []*waiter
	for class := User; class >= Poll; class-- {
		for _, namespace := range l.lane(class).turns {
			all = append(all, l.lane(class).waiting[namespace]...)
		}
	}
	*l = line{}

	return all
}
