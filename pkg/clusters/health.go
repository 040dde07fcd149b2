package clusters

// Health of a cluster as its users and probes have found it.
type Health struct {
	// Healthy is false after as many failures in a row as CacheOptions says, and true
	// again after the first success.
	Healthy bool

	// Failures are those since the last success.
	Failures int

	// Err is the last failure, nil after a success.
	Err error
}

// Report says how a try to reach a cluster ended, nil for well, and returns what is
// to be thought of its health now. A single failure does not count for much: a
// server that is restarted is no reason to tell anybody. Of a cluster that is not
// known, or cannot be reached, it says that it is not healthy.
func (c *Cache[C]) Report(key Key, err error) Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[key]
	switch {
	case k == nil:
		return Health{Err: ErrNotFound}
	case k.err != nil:
		return Health{Err: k.err}
	case err == nil:
		k.health = Health{Healthy: true}
	default:
		failures := k.health.Failures + 1
		k.health = Health{Healthy: failures < c.threshold, Failures: failures, Err: err}
	}

	return k.health
}
