package limit

import "time"

// rereadInterval is the time between two passes that read rejected credentials again.
const rereadInterval = 10 * time.Second

// RereadAfter returns when an object connects again after its call was rejected or held with ReasonUnauthorized, and
// whether it should then read the credentials again. The argument is the time until the gate lets its next call
// through.
//
// Every ten seconds, RereadAfter selects one object: for this object it returns at most ten seconds, and true. For all
// other objects it returns the argument and false. Corrected credentials are thus noticed within ten seconds although
// calls are held for longer, and only one object connects that often.
func (g *Gate) RereadAfter(after time.Duration) (at time.Duration, reread bool) {
	g.mu.Lock()
	defer g.mu.Unlock()

	now := g.clock.Now()
	if now.Before(g.nextReread) {
		return after, false
	}
	g.nextReread = now.Add(rereadInterval)

	return min(after, rereadInterval), true
}
