package limit

import (
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
)

// reservationTTL is how long an object keeps its reservation without calling again.
const reservationTTL = 2 * external.MaxRetryAfter

// reservations are the objects whose call was held. Each gets a slot in which to retry:
// one after the other, at the rate of the gate, with an equal share for each namespace.
// An object keeps the time of its first request, so that it goes before objects that
// requested later.
type reservations struct {
	namespaces map[string]*namespaceReservations
	lastSweep  time.Time
}

type namespaceReservations struct {
	// next is the next free slot.
	next    time.Time
	objects map[string]reservation
}

// reservation has the times of the first and the last request of an object, and the
// slot in which it is to retry.
type reservation struct{ first, last, slot time.Time }

// firstRequest returns when the object of a request first wanted to call: now, if it has
// no reservation.
func (s *reservations) firstRequest(r Request, now time.Time) time.Time {
	if n, ok := s.namespaces[r.Namespace]; ok {
		if t, ok := n.objects[r.Object]; ok {
			return t.first
		}
	}

	return now
}

// add returns the slot in which a waiter has to retry. The slot is not before earliest. It follows the slot before it
// by an interval, plus the time that other namespaces use meanwhile.
func (s *reservations) add(w *waiter, now, earliest time.Time, interval time.Duration) time.Time {
	n, ok := s.namespaces[w.Namespace]
	if !ok {
		if s.namespaces == nil {
			s.namespaces = map[string]*namespaceReservations{}
		}
		n = &namespaceReservations{objects: map[string]reservation{}}
		s.namespaces[w.Namespace] = n
	}
	if had := n.objects[w.Object]; w.Object != "" && had.slot.After(earliest) {
		// An object that retries before its slot gets no second one: the slots of all
		// others would move ever further away.
		n.objects[w.Object] = reservation{first: w.since, last: now, slot: had.slot}

		return had.slot
	}
	n.objects[w.Object] = reservation{first: w.since, last: now}
	interval = time.Duration(float64(interval) * s.callsPerTurn(len(n.objects)))
	// Slots of objects that have been let through since are free again.
	latest := earliest.Add(time.Duration(len(n.objects)-1) * interval)
	switch {
	case n.next.Before(earliest):
		n.next = earliest
	case n.next.After(latest):
		n.next = latest
	}
	slot := n.next
	n.objects[w.Object] = reservation{first: w.since, last: now, slot: slot}
	n.next = slot.Add(interval)

	return slot
}

// callsPerTurn returns how many calls are made for each call of a namespace that has
// this many reservations, if namespaces take turns until they have none left.
func (s *reservations) callsPerTurn(own int) float64 {
	sum := 0
	for _, n := range s.namespaces {
		sum += min(own, len(n.objects))
	}

	return float64(sum) / float64(own)
}

func (s *reservations) remove(r Request) {
	n, ok := s.namespaces[r.Namespace]
	if !ok {
		return
	}
	delete(n.objects, r.Object)
	if len(n.objects) == 0 {
		delete(s.namespaces, r.Namespace)
	}
}

// sweep removes expired reservations. It visits all of them, therefore rarely.
func (s *reservations) sweep(now time.Time) {
	if now.Sub(s.lastSweep) < reservationTTL {
		return
	}
	s.lastSweep = now
	for namespace, n := range s.namespaces {
		for object, t := range n.objects {
			if now.Sub(t.last) >= reservationTTL {
				s.remove(Request{Namespace: namespace, Object: object})
			}
		}
	}
}
