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

// A notice is what an informer tells a controller: of a change that its watch has seen, or of what a list
// shows to be other than before, or not to be.
type notice struct {
	apiserver.Change

	listed    bool // a list tells it
	tombstone bool // the object is gone, and what is told is the last that was known of it
}

// String is the notice as a story tells it.
func (n notice) String() string {
	switch now := n.Object; {
	case n.tombstone:
		return fmt.Sprintf("a list does not have %s any more, which was %s of version %s", n.Key.Name, now.GetUID(), now.GetResourceVersion())
	case n.Old == nil:
		return fmt.Sprintf("a list has %s, which is new", n.Key.Name)
	case n.Old.GetUID() != now.GetUID():
		return fmt.Sprintf("a list has %s, which is %s and was %s", n.Key.Name, now.GetUID(), n.Old.GetUID())
	case n.unchanged():
		return fmt.Sprintf("a list has %s as it was", n.Key.Name)
	default:
		return fmt.Sprintf("a list has %s of version %s, which was %s", n.Key.Name, now.GetResourceVersion(), n.Old.GetResourceVersion())
	}
}

// unchanged says whether the notice is of an object in the version that was known.
func (n notice) unchanged() bool {
	return n.Type != apiserver.Deleted && n.Old != nil && n.Old.GetResourceVersion() == n.Object.GetResourceVersion()
}

// priority is what controller-runtime gives what comes of the notice: what did not change is not urgent.
func (n notice) priority() int {
	if n.unchanged() {
		return listPriority
	}

	return 0
}

// passes says whether a controller that watches with a predicate makes a pass because of the notice.
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

// judgeResync judges that an object which a list has as it was known is not looked at for that: it would be taken out
// of its back-off, and so would all others, as often as a watch breaks.
func (w *World) judgeResync(n notice, passes bool) {
	if passes && n.unchanged() {
		w.violate("L5", fmt.Sprintf("%s has not changed, and is looked at because a list has it", n.Key.Name))
	}
}

// breaksWatch ends the watches of a process. Its caches stand still until the lists that follow come.
func (w *World) breaksWatch(p *process, f Fault) {
	until := w.now().Add(f.duration())
	p.cache.breaks(until)
	if p.referents != nil {
		p.referents.of.breaks(until)
	}
	for _, mg := range w.users.all() {
		w.stale.add(f.Kind, mg)
	}
}

// breaks lets nothing be seen until a time, and then a list.
func (c *cache) breaks(until time.Time) {
	if c.frozen.Before(until) {
		c.frozen = until
	}
	c.broken = true
}

// relist makes the cache what the server has now, as the informers of client-go do with a list: first what is gone is
// told, each with the last that was known, then all that is there. That an object has another UID than the one
// of its name had is an update; so is that it has not changed.
func (c *cache) relist(handle func(notice)) {
	before := maps.Clone(c.objects)
	kept := map[types.NamespacedName]client.Object{}
	for key := range before {
		kept[key] = c.keeps(key)
	}
	for _, change := range c.server.Changes(c.read) {
		c.apply(change)
	}
	c.broken = false
	for _, key := range inOrder(before) {
		if _, there := c.objects[key]; !there {
			handle(notice{Change: c.told(apiserver.Deleted, key, kept[key], kept[key]), listed: true, tombstone: true})
		}
	}
	for _, key := range inOrder(c.objects) {
		change := c.told(apiserver.Added, key, nil, c.objects[key])
		if old := before[key]; old != nil {
			change = c.told(apiserver.Modified, key, kept[key], c.objects[key])
		}
		handle(notice{Change: change, listed: true})
	}
}

func (c *cache) told(t apiserver.ChangeType, key types.NamespacedName, old, now client.Object) apiserver.Change {
	return apiserver.Change{Type: t, Kind: c.kind, Key: key, Old: old, Object: now}
}

// inOrder returns the keys of objects as a list has them.
func inOrder(objects map[types.NamespacedName]client.Object) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(objects), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
}
