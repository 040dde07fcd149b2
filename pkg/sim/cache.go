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

// A cache is what one process has read of the objects of one kind. It lags behind
// the server, and never goes back.
type cache struct {
	kind    schema.GroupVersionKind
	server  *apiserver.Server
	objects map[types.NamespacedName]client.Object // as they were stored
	lent    []lent                                 // what it keeps of some of them is in the hands of others
	read    int                                    // changes seen
	lag     time.Duration                          // between a write and its event
	frozen  time.Time                              // no event is seen before
	broken  bool                                   // and what is seen then is a list
}

// newCache lists what there is, without the last changes it is told to overlook.
func newCache(server *apiserver.Server, kind schema.GroupVersionKind, lag time.Duration, overlook int) *cache {
	c := &cache{kind: kind, server: server, lag: lag, objects: map[types.NamespacedName]client.Object{}}
	changes := server.Changes(0)
	for _, change := range changes[:max(0, len(changes)-overlook)] {
		c.apply(change)
	}

	return c
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

// deliver applies the changes that have come by now and hands them on.
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
		old := c.keeps(change.Key)
		c.apply(change)
		if change.Kind == c.kind {
			change.Old = old
			handle(notice{Change: change})
		}
	}
}

// next returns when the next change comes, or the next list.
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

// get reads an object as a client with a cache does: a copy, or, if so asked, what is kept
// itself, apart from the outermost struct, which then does not tell its kind.
func (c *cache) get(key types.NamespacedName, o client.Object, opts []client.GetOption) error {
	have := c.keeps(key)
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
