package serviceprovider

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/secrecy"
)

// A memory holds what was done with each object. It is dropped with it. One object is
// used by one worker at a time.
type memory[C Config] struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*record[C]
}

// A record of an object.
type record[C Config] struct {
	uid     types.UID
	version string // our last write was answered with
	gone    bool   // our last write took the last finalizer away

	connections []secrecy.Connection // that the domain was last given

	// That was last used for it. The memory's lock guards it: others ask for it, too.
	config     C
	configured bool
}

func newMemory[C Config]() *memory[C] {
	return &memory[C]{objects: map[types.NamespacedName]*record[C]{}}
}

// of returns the record of an object, a new one if it is another of the name.
func (m *memory[C]) of(name types.NamespacedName, uid types.UID) *record[C] {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.objects[name]
	if r == nil || r.uid != uid {
		r = &record[C]{uid: uid}
		m.objects[name] = r
	}

	return r
}

// peek returns the record of an object, if there is one.
func (m *memory[C]) peek(name types.NamespacedName) (*record[C], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.objects[name]

	return r, ok
}

// used returns the configuration that was last used for an object.
func (m *memory[C]) used(name types.NamespacedName) (C, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.objects[name]
	if r == nil || !r.configured {
		var none C

		return none, false
	}

	return r.config, true
}

// use remembers the configuration that is used for an object.
func (m *memory[C]) use(r *record[C], c C) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.config, r.configured = c, true
}

// end keeps of an object that it was let go: the cache may still show it. It is forgotten when
// a read says that it is gone.
func (m *memory[C]) end(r *record[C]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var none C
	r.gone, r.config, r.configured, r.connections = true, none, false, nil
}

func (m *memory[C]) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
}

// ahead reports whether our last write is newer than a version that was read. Before
// the first one there is no version, which cannot be compared with any. After the last one
// there is none that could be read.
func (r *record[C]) ahead(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, r.version)

	return err == nil && order < 0 || r.gone
}
