package syncer

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long a cache may be behind one of our own writes before we go on
// without it: whoever deleted the object at once may have kept the cache from ever
// showing it.
const patience = 10 * time.Second

// A side is one of the two clusters.
type side int

const (
	virtual side = iota
	physical
)

// Memory is what the process knows beyond the caches. Losing it (a restart) may cost
// a request, never safety. It holds something per object that was just written, that
// exists on the host, or that waits for a name.
type memory struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	writes  map[place]written
	hosts   map[types.NamespacedName]names // host names by virtual name
	waiting map[types.NamespacedName]names // virtual names that want a host name
}

type names = sets.Set[types.NamespacedName]

type place struct {
	side side
	name types.NamespacedName
}

// written is our own last write of an object that its cache does not show yet.
type written struct {
	uid     types.UID
	version string // resourceVersion that was answered
	deleted bool
	at      time.Time
}

func newMemory(c clock.PassiveClock) *memory {
	return &memory{
		clock: c, writes: map[place]written{},
		hosts: map[types.NamespacedName]names{}, waiting: map[types.NamespacedName]names{},
	}
}

func (m *memory) wrote(s side, obj client.Object, deleted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes[place{s, client.ObjectKeyFromObject(obj)}] = written{
		uid: obj.GetUID(), version: obj.GetResourceVersion(), deleted: deleted, at: m.clock.Now(),
	}
}

// observed is told what a cache shows now, or showed last of an object that is gone.
func (m *memory) observed(s side, obj client.Object, gone bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := place{s, client.ObjectKeyFromObject(obj)}
	if w, pending := m.writes[at]; pending && w.shownBy(obj, gone) {
		delete(m.writes, at)
	}
}

// behind tells whether a cache that shows this object, or none, is behind our own
// last write of it.
func (m *memory) behind(s side, name types.NamespacedName, obj client.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := place{s, name}
	w, pending := m.writes[at]
	if !pending {
		return false
	}
	shown := obj != nil && w.shownBy(obj, false) || obj == nil && w.deleted
	if shown || m.clock.Since(w.at) > patience {
		delete(m.writes, at)
		return false
	}
	return true
}

// pending tells whether a cache does not show our last write yet.
func (m *memory) pending(s side, name types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, pending := m.writes[place{s, name}]
	return pending
}

func (w written) shownBy(obj client.Object, gone bool) bool {
	if w.deleted {
		return gone || obj.GetUID() != w.uid || obj.GetDeletionTimestamp() != nil
	}
	if obj.GetUID() != w.uid {
		// What came later has a later version: resourceVersions count for the whole
		// kind.
		return !older(obj.GetResourceVersion(), w.version)
	}
	return gone || !older(obj.GetResourceVersion(), w.version)
}

// older tells whether version a comes before b. What cannot be compared is not
// older: it must not keep anybody waiting.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// remember that a host object leads to a virtual name, or that the virtual object had
// that host name while it existed.
func (m *memory) remember(v, host types.NamespacedName) { m.note(m.hosts, v, host) }

// known returns the host names that led to a virtual name, in order.
func (m *memory) known(v types.NamespacedName) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return keys(m.hosts[v])
}

// forget a host name that leads nowhere any more.
func (m *memory) forget(v, host types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	drop(m.hosts, v, host)
}

// wait for a host name that is taken.
func (m *memory) wait(v, host types.NamespacedName) { m.note(m.waiting, host, v) }

// unwait forgets a virtual name that does not want the host name any more.
func (m *memory) unwait(v, host types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	drop(m.waiting, host, v)
}

// wake returns, once, those who wait for a host name.
func (m *memory) wake(host types.NamespacedName) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := keys(m.waiting[host])
	delete(m.waiting, host)
	return out
}

func (m *memory) note(in map[types.NamespacedName]names, key, value types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in[key] == nil {
		in[key] = names{}
	}
	in[key].Insert(value)
}

func drop(from map[types.NamespacedName]names, key, value types.NamespacedName) {
	delete(from[key], value)
	if len(from[key]) == 0 {
		delete(from, key)
	}
}

func keys(set names) []types.NamespacedName {
	out := set.UnsortedList()
	slices.SortFunc(out, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}
