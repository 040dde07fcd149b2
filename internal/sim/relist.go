package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A notice is an event that an informer sends to a controller: a change from its watch, or a difference from a list.
type notice struct {
	apiserver.Change

	listed    bool // a list shows it
	tombstone bool // the object is gone, and this is its last known version
}

// String returns the notice as a line of a trace.
func (n notice) String() string {
	switch now := n.Object; {
	case n.tombstone:
		return fmt.Sprintf("a list does not have %s any more, which was %s of version %s", n.Key.Name, now.GetUID(),
			now.GetResourceVersion())
	case n.Old == nil:
		return fmt.Sprintf("a list has %s, which is new", n.Key.Name)
	case n.Old.GetUID() != now.GetUID():
		return fmt.Sprintf("a list has %s, which is %s and was %s", n.Key.Name, now.GetUID(), n.Old.GetUID())
	case n.unchanged():
		return fmt.Sprintf("a list has %s as it was", n.Key.Name)
	default:
		return fmt.Sprintf("a list has %s of version %s, which was %s", n.Key.Name, now.GetResourceVersion(),
			n.Old.GetResourceVersion())
	}
}

// unchanged returns whether the object has the version that was known.
func (n notice) unchanged() bool {
	return n.Type != apiserver.Deleted && n.Old != nil && n.Old.GetResourceVersion() == n.Object.GetResourceVersion()
}

// priority returns the priority that controller-runtime gives the request: an unchanged object is not urgent.
func (n notice) priority() int {
	if n.unchanged() {
		return listPriority
	}

	return 0
}

// passes returns whether a controller with a predicate enqueues a request for the notice.
func (n notice) passes(watches predicate.Predicate) bool {
	switch {
	case n.Type == apiserver.Deleted:
		return watches.Delete(event.DeleteEvent{Object: n.Object, DeleteStateUnknown: n.tombstone})
	case n.Old == nil:
		return watches.Create(event.CreateEvent{Object: n.Object})
	default:
		return watches.Update(event.UpdateEvent{ObjectOld: n.Old, ObjectNew: n.Object})
	}
}

// judgeResync checks that a list does not cause a reconcile of an unchanged object. Otherwise a broken watch would end
// the back-off of all objects.
func (w *World) judgeResync(n notice, passes bool) {
	if passes && n.unchanged() {
		w.violate("L5", fmt.Sprintf("%s has not changed, and is reconciled because a list has it", n.Key.Name))
	}
}

// breaksWatch ends the watches of a process. Its caches do not change until the following lists.
func (w *World) breaksWatch(p *process, f Fault) {
	until := w.now().Add(f.duration())
	p.cache.breaks(until)
	if p.referents != nil {
		p.referents.of.breaks(until)
	}
	for _, mg := range w.users.all() {
		w.exempt.stale.add(f.Kind, mg)
	}
}

// breaks hides all events until a time, and then applies a list.
func (c *cache) breaks(until time.Time) {
	if c.frozen.Before(until) {
		c.frozen = until
	}
	c.broken = true
}

// relist updates the cache from a list as the informers of client-go do. It first sends a deletion, with the last known
// version, for each object that is gone. It then sends an event for each object that exists. Another UID under a known
// name is an update, and so is an unchanged object.
func (c *cache) relist(handle func(notice)) {
	before := maps.Clone(c.objects)
	kept := map[types.NamespacedName]client.Object{}
	for key := range before {
		kept[key] = c.kept(key)
	}
	for _, change := range c.server.Changes(c.read) {
		c.apply(change)
	}
	c.broken = false
	for _, key := range sortedKeys(before) {
		if _, there := c.objects[key]; !there {
			handle(notice{
				Change: c.change(apiserver.Deleted, key, kept[key], kept[key]), listed: true,
				tombstone: true,
			})
		}
	}
	for _, key := range sortedKeys(c.objects) {
		change := c.change(apiserver.Added, key, nil, c.objects[key])
		if old := before[key]; old != nil {
			change = c.change(apiserver.Modified, key, kept[key], c.objects[key])
		}
		handle(notice{Change: change, listed: true})
	}
}

func (c *cache) change(t apiserver.ChangeType, key types.NamespacedName, old, now client.Object) apiserver.Change {
	return apiserver.Change{Type: t, Kind: c.kind, Key: key, Old: old, Object: now}
}

// sortedKeys returns the keys of objects in the order of a list.
func sortedKeys(objects map[types.NamespacedName]client.Object) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(objects),
		func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
}
