package clusters

// Health is the health of a cluster as determined by Report.
type Health struct {
	// Healthy becomes false after CacheOptions.FailureThreshold consecutive failures. It becomes true again after the
	// first success.
	Healthy bool

	// Failures is the number of failures since the last success.
	Failures int

	// Err is the last failure. It is nil after a success.
	Err error
}

// Report records the result of an attempt to reach a cluster, and returns the health of the cluster. A nil error
// records a success. Single failures, such as those during a restart of a server, do not make a cluster unhealthy. An
// unknown cluster, and a cluster for which Fail was called, are not healthy.
func (c *Cache[C]) Report(key Key, err error) Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	switch {
	case e == nil:
		return Health{Err: ErrNotFound}
	case e.err != nil:
		return Health{Err: e.err}
	case err == nil:
		e.health = Health{Healthy: true}
	default:
		failures := e.health.Failures + 1
		e.health = Health{Healthy: failures < c.threshold, Failures: failures, Err: err}
	}

	return e.health
}
