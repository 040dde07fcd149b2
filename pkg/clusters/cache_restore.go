package clusters

import (
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/internal/restores"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// Restored reports why a connection to a cluster was replaced although its revision stayed the same. If the API server
// was restored to an earlier state, Restored returns this restore. Otherwise it returns nil. For each restore it
// returns a different pointer.
func (c *Cache[C]) Restored(key Key) *Restore {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		return e.restored
	}

	return nil
}

// restoreAware returns an input that detects restores of the API server. After a restore, the connection is replaced.
func (c *Cache[C]) restoreAware(key Key, e *entry) Input {
	in := e.input
	if in.RESTConfig != nil {
		in.RESTConfig = rest.CopyConfig(in.RESTConfig)
		OnRestored(in.RESTConfig, func(why Restore) { c.replaceRestored(key, e, why) })
	}

	return in
}

// replaceRestored replaces a connection by a new connection with the same input, and ends all leases on the old
// connection. It does so only once per restore, although several watches detect the same restore.
func (c *Cache[C]) replaceRestored(key Key, e *entry, why Restore) {
	now := &entry{input: e.input, restored: &why}
	if !c.set(key, now, why, func(old, _ *entry) bool { return old == e }) {
		return
	}
	restores.Counter().Inc()
	logging.Error(c.log, why, "The connection to a cluster and its caches are replaced",
		"cluster", key.String(), "resource", why.Resource.String(),
		"knownVersion", why.Known, "answeredVersion", why.Answered)
}
