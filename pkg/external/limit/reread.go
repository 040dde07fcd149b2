package limit

import "time"

// rereadInterval is the time between two passes that read rejected credentials again.
const rereadInterval = 10 * time.Second

// RereadAfter returns when an object whose call was rejected or held with ReasonUnauthorized connects again, given that
// the gate lets its next call through after the argument. For one object in ten seconds RereadAfter returns at most ten
// seconds, and true: this object should read the credentials again when it connects. For all others it returns the
// argument and false. So corrected credentials are noticed within ten seconds although calls are held for longer, and
// ten thousand objects do not connect that often.
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
