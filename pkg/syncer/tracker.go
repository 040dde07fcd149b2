package syncer

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/freshness"
)

// staleCacheTimeout is how long a pass waits until a cache contains the process's own write. If the
// object was deleted right after the write, the cache may never contain the write.
const staleCacheTimeout = 10 * time.Second

// A side is one of the two clusters.
type side int

const (
	virtual side = iota
	physical
)

// A tracker is the in-memory state of a syncer in addition to the caches. It has entries for
// objects that were just written, that exist on the host, or that wait for a host name. If a
// restart loses the state, the syncer may send a few more requests, but it remains safe. A tracker
// is safe for concurrent use.
type tracker struct {
	clock clock.PassiveClock

	mu          sync.Mutex
	writes      map[objectKey]pendingWrite
	hostNamesOf map[types.NamespacedName]names // host names of images, by virtual name
	waiters     map[types.NamespacedName]names // virtual names that wait for a host name, by host name
}

type names = sets.Set[types.NamespacedName]

type objectKey struct {
	side side
	name types.NamespacedName
}

// A pendingWrite is the process's last write of an object that the cache does not contain
// yet.
type pendingWrite struct {
	uid     types.UID
	version string // resourceVersion in the response
	deleted bool
	at      time.Time
}

func newTracker(c clock.PassiveClock) *tracker {
	return &tracker{
		clock: c, writes: map[objectKey]pendingWrite{},
		hostNamesOf: map[types.NamespacedName]names{}, waiters: map[types.NamespacedName]names{},
	}
}

// recordWrite stores a write until the cache contains it.
func (m *tracker) recordWrite(s side, obj client.Object, deleted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes[objectKey{s, client.ObjectKeyFromObject(obj)}] = pendingWrite{
		uid: obj.GetUID(), version: obj.GetResourceVersion(), deleted: deleted, at: m.clock.Now(),
	}
}

// observe processes an event of a cache. obj is the object that the cache contains or, if gone is
// true, the object that it contained last. If the event reflects a pending write, the write is
// removed.
func (m *tracker) observe(s side, obj client.Object, gone bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := objectKey{s, client.ObjectKeyFromObject(obj)}
	if w, pending := m.writes[at]; pending && w.observedIn(obj, gone) {
		delete(m.writes, at)
	}
}

// isStale reports whether a cache is older than the process's last write of an object. obj is the
// object in the cache, or nil if the cache has none. After staleCacheTimeout the result is false.
func (m *tracker) isStale(s side, name types.NamespacedName, obj client.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := objectKey{s, name}
	w, pending := m.writes[at]
	if !pending {
		return false
	}
	shown := obj != nil && w.observedIn(obj, false) || obj == nil && w.deleted
	if shown || m.clock.Since(w.at) > staleCacheTimeout {
		delete(m.writes, at)
		return false
	}
	return true
}

// hasPendingWrite reports whether a cache does not contain the last write yet.
func (m *tracker) hasPendingWrite(s side, name types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, pending := m.writes[objectKey{s, name}]
	return pending
}

// observedIn reports whether an event of a cache reflects the write or something later.
func (w pendingWrite) observedIn(obj client.Object, gone bool) bool {
	if w.deleted {
		return gone || obj.GetUID() != w.uid || obj.GetDeletionTimestamp() != nil
	}
	if obj.GetUID() != w.uid {
		// A later object has a later version: resourceVersions are comparable within a
		// kind.
		return !freshness.IsOlder(obj.GetResourceVersion(), w.version)
	}
	return gone || !freshness.IsOlder(obj.GetResourceVersion(), w.version)
}

// addHostName records the host name of an image. The image is a host object that is mapped to the
// virtual name, or whose name the translator returned while the virtual object existed.
func (m *tracker) addHostName(v, host types.NamespacedName) { m.insert(m.hostNamesOf, v, host) }

// hostNames returns the recorded host names of a virtual name, sorted.
func (m *tracker) hostNames(v types.NamespacedName) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sortedNames(m.hostNamesOf[v])
}

// removeHostName removes a host name at which there is no object.
func (m *tracker) removeHostName(v, host types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	removeName(m.hostNamesOf, v, host)
}

// addWaiter records that a virtual name waits for a host name that is taken.
func (m *tracker) addWaiter(v, host types.NamespacedName) { m.insert(m.waiters, host, v) }

// removeWaiter removes a virtual name from the waiters for a host name.
func (m *tracker) removeWaiter(v, host types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	removeName(m.waiters, host, v)
}

// takeWaiters returns the virtual names that wait for a host name and removes them.
func (m *tracker) takeWaiters(host types.NamespacedName) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := sortedNames(m.waiters[host])
	delete(m.waiters, host)
	return out
}

// insert adds a value to the set of a key.
func (m *tracker) insert(in map[types.NamespacedName]names, key, value types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in[key] == nil {
		in[key] = names{}
	}
	in[key].Insert(value)
}

// removeName removes a value from the set of a key. The caller holds the lock.
func removeName(from map[types.NamespacedName]names, key, value types.NamespacedName) {
	delete(from[key], value)
	if len(from[key]) == 0 {
		delete(from, key)
	}
}

// sortedNames returns the names of a set, by namespace and name.
func sortedNames(set names) []types.NamespacedName {
	out := set.UnsortedList()
	slices.SortFunc(out, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}
