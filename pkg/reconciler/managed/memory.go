package managed

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Memory is what the process knows about objects beyond what is stored in them.
// Losing it (a restart) may cost time or a request, never safety. It holds one
// memo per object that exists.
type memory struct {
	mu    sync.Mutex
	memos map[types.NamespacedName]*memo
}

func newMemory() *memory {
	return &memory{memos: map[types.NamespacedName]*memo{}}
}

// Of returns the memo of an object. An object with another UID under the same
// name is another object.
func (m *memory) of(key types.NamespacedName, uid types.UID) *memo {
	m.mu.Lock()
	defer m.mu.Unlock()

	o := m.memos[key]
	if o == nil || o.uid != uid {
		o = &memo{uid: uid}
		m.memos[key] = o
	}

	return o
}

// Peek returns the memo of an object, or nil.
func (m *memory) peek(key types.NamespacedName, uid types.UID) *memo {
	m.mu.Lock()
	defer m.mu.Unlock()

	if o := m.memos[key]; o != nil && o.uid == uid {
		return o
	}

	return nil
}

// Forget drops the memo of an object that is gone.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.memos, key)
}

// A memo is what the process knows about one object. Only the pass of that
// object uses it, apart from wrote, which the watch predicate reads.
type memo struct {
	uid types.UID

	version string // resourceVersion answered by our last write

	seen       string    // the creation whose external resource an observation found
	creation   string    // the creation whose window is running: its mark, or our own
	since      time.Time // when this process first knew of it
	deleteSent time.Time // when the last Delete was sent
	letGo      bool      // the author's finalizer was removed

	waits     int // consecutive passes that waited
	unchanged int // consecutive passes whose Update did not show
	conflicts int // consecutive passes that ended in a conflict

	told        map[string]string // the last message of a warning, by reason
	disconnect  string            // the last complaint about a disconnect
	badInterval string            // the last complaint about a poll interval
	dropped     [sha256.Size]byte // the status patch that the server dropped, with its base
	volatileAt  time.Time         // when volatile fields were last written

	mu    sync.Mutex
	wrote map[string][]string // annotations as we wrote them lately
}

// Older says whether a version read is older than our own last write. What
// cannot be compared is not.
func (o *memo) older(version string) bool {
	if o.version == "" || version == "" || o.version == version {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, o.version)

	return err == nil && order < 0
}

// How many values of an annotation are remembered: those of a few passes, whose
// events may still be on their way.
const writesRemembered = 8

// Writes remembers changes of annotations that are about to be written. An empty
// value is a removal.
func (o *memo) writes(changes map[string]any) {
	o.mu.Lock()
	defer o.mu.Unlock()

	if o.wrote == nil {
		o.wrote = map[string][]string{}
	}
	for key, change := range changes {
		value, _ := change.(string)
		if values := o.wrote[key]; !slices.Contains(values, value) {
			o.wrote[key] = append(values[max(0, len(values)-writesRemembered+1):], value)
		}
	}
}

// Ours says whether the value of an annotation is one that we wrote. Once somebody
// else has written another, it no longer is: he may set it back.
func (o *memo) ours(key, value string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()

	if slices.Contains(o.wrote[key], value) {
		return true
	}
	delete(o.wrote, key)

	return false
}
