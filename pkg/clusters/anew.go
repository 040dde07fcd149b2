package clusters

import (
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/internal/restores"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// Restored returns why the connection to a cluster was made anew although its revision is the
// same: its API server was restored to an earlier state. It is nil if that was not the reason,
// and another one for each restore.
func (c *Cache[C]) Restored(key Key) *Restore {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.known[key]; k != nil {
		return k.restored
	}

	return nil
}

// restorable returns what a connection is made of that is replaced once its API server was
// restored.
func (c *Cache[C]) restorable(key Key, k *known) Input {
	in := k.in
	if in.RESTConfig != nil {
		in.RESTConfig = rest.CopyConfig(in.RESTConfig)
		OnRestored(in.RESTConfig, func(why Restore) { c.renew(key, k, why) })
	}

	return in
}

// renew ends all leases on a connection and lets another one with the same settings take its
// place, unless that has happened: several watches notice a restore, and it counts once.
func (c *Cache[C]) renew(key Key, k *known, why Restore) {
	now := &known{in: k.in, restored: &why}
	if !c.set(key, now, why, func(old, _ *known) bool { return old == k }) {
		return
	}
	restores.Counter().Inc()
	logging.Error(c.log, why, "The connection to a cluster and its caches are replaced",
		"cluster", key.String(), "resource", why.Resource.String(), "knownVersion", why.Known, "answeredVersion", why.Answered)
}
