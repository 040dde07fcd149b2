package sim

import (
	"reflect"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A cache has the objects of one kind that a process has read. It lags behind the server, and its versions never
// decrease.
type cache struct {
	kind    schema.GroupVersionKind
	server  *apiserver.Server
	objects map[types.NamespacedName]client.Object // as they were stored
	aliases []alias                                // objects that readers share
	read    int                                    // changes seen
	lag     time.Duration                          // between a write and its event
	frozen  time.Time                              // no event is seen before
	broken  bool                                   // and a list is seen then
}

// newCache returns a cache filled from a list. The list lacks the last overlook changes.
func newCache(server *apiserver.Server, kind schema.GroupVersionKind, lag time.Duration, overlook int) *cache {
	c := &cache{kind: kind, server: server, lag: lag, objects: map[types.NamespacedName]client.Object{}}
	changes := server.Changes(0)
	for _, change := range changes[:max(0, len(changes)-overlook)] {
		c.apply(change)
	}

	return c
}

// deliver applies the changes that are due, and passes them on.
func (c *cache) deliver(now time.Time, handle func(notice)) {
	if now.Before(c.frozen) {
		return
	}
	if c.broken {
		c.relist(handle)

		return
	}
	for _, change := range c.server.Changes(c.read) {
		if change.At.Add(c.lag).After(now) {
			return
		}
		old := c.kept(change.Key)
		c.apply(change)
		if change.Kind == c.kind {
			change.Old = old
			handle(notice{Change: change})
		}
	}
}

func (c *cache) apply(change apiserver.Change) {
	c.read++
	if change.Kind != c.kind {
		return
	}
	if change.Type == apiserver.Deleted {
		delete(c.objects, change.Key)
	} else {
		c.objects[change.Key] = change.Object
	}
}

// next returns the time of the next change, or of the next list.
func (c *cache) next() (time.Time, bool) {
	if c.broken {
		return c.frozen, true
	}
	waiting := c.server.Changes(c.read)
	if len(waiting) == 0 {
		return time.Time{}, false
	}
	at := waiting[0].At.Add(c.lag)
	if at.Before(c.frozen) {
		at = c.frozen
	}

	return at, true
}

// get reads an object as a client with a cache does. It returns a copy. With UnsafeDisableDeepCopy it returns the
// cached object itself, in a new outermost struct without the kind.
func (c *cache) get(key types.NamespacedName, o client.Object, opts []client.GetOption) error {
	have := c.kept(key)
	if have == nil {
		return kerrors.NewNotFound(schema.GroupResource{Group: c.kind.Group, Resource: c.kind.Kind}, key.Name)
	}
	if reflect.TypeOf(have) != reflect.TypeOf(o) {
		return errors.Errorf("cannot read a %s into a %T", c.kind.Kind, o)
	}
	asked := (&client.GetOptions{}).ApplyOptions(opts).UnsafeDisableDeepCopy
	if asked == nil || !*asked {
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(have.DeepCopyObject()).Elem())

		return nil
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(c.lend(key)).Elem())
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})

	return nil
}
