package limit

import (
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
)

// memory is for how long somebody who was told to come back, and did not, keeps the
// place of one who has waited.
const memory = 2 * external.MaxRetryAfter

// An absence is those who were told to come back. It sees to it that they come one
// after the other, at the pace of the gate; that each namespace gets its share of
// the times; and that they are remembered for as long as they have not called, so
// that they go before those who ask later.
type absence struct {
	namespaces map[string]*absentees
	swept      time.Time
}

type absentees struct {
	// slot is when the next one comes back.
	slot    time.Time
	objects map[string]tenure
}

// A tenure is since when somebody wants to call, when they last said so, and when they were
// told to come back.
type tenure struct{ first, last, slot time.Time }

// since is from when on somebody wants to call.
func (a *absence) since(r Request, now time.Time) time.Time {
	if n, ok := a.namespaces[r.Namespace]; ok {
		if t, ok := n.objects[r.Object]; ok {
			return t.first
		}
	}

	return now
}

// add tells somebody when to come back: not before earliest, and a gap after the
// one before, longer by what others need of that time.
func (a *absence) add(w *waiter, now, earliest time.Time, gap time.Duration) time.Time {
	n, ok := a.namespaces[w.Namespace]
	if !ok {
		if a.namespaces == nil {
			a.namespaces = map[string]*absentees{}
		}
		n = &absentees{objects: map[string]tenure{}}
		a.namespaces[w.Namespace] = n
	}
	if had := n.objects[w.Object]; w.Object != "" && had.slot.After(earliest) {
		// Who comes before the time takes no second one: the others would have to come
		// ever later.
		n.objects[w.Object] = tenure{first: w.since, last: now, slot: had.slot}

		return had.slot
	}
	n.objects[w.Object] = tenure{first: w.since, last: now}
	gap = time.Duration(float64(gap) * a.turns(len(n.objects)))
	// What was given to who has been let through since is free again.
	latest := earliest.Add(time.Duration(len(n.objects)-1) * gap)
	switch {
	case n.slot.Before(earliest):
		n.slot = earliest
	case n.slot.After(latest):
		n.slot = latest
	}
	slot := n.slot
	n.objects[w.Object] = tenure{first: w.since, last: now, slot: slot}
	n.slot = slot.Add(gap)

	return slot
}

// turns is how many calls there are for one of a namespace in which so many wait,
// if namespaces take turns until nobody waits in them.
func (a *absence) turns(own int) float64 {
	sum := 0
	for _, n := range a.namespaces {
		sum += min(own, len(n.objects))
	}

	return float64(sum) / float64(own)
}

func (a *absence) remove(r Request) {
	n, ok := a.namespaces[r.Namespace]
	if !ok {
		return
	}
	delete(n.objects, r.Object)
	if len(n.objects) == 0 {
		delete(a.namespaces, r.Namespace)
	}
}

// sweep forgets those who did not come back. It looks at all of them, so it does
// so rarely.
func (a *absence) sweep(now time.Time) {
	if now.Sub(a.swept) < memory {
		return
	}
	a.swept = now
	for namespace, n := range a.namespaces {
		for object, t := range n.objects {
			if now.Sub(t.last) >= memory {
				a.remove(Request{Namespace: namespace, Object: object})
			}
		}
	}
}
