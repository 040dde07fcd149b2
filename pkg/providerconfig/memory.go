package providerconfig

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A memory holds what was done with each configuration. It is dropped with it. One
// configuration is used by one worker at a time.
type memory struct {
	mu      sync.Mutex
	configs map[types.NamespacedName]*record
}

// A record of a configuration.
type record struct {
	uid      types.UID
	version  string    // our last write was answered with
	released string    // the version that our finalizer was taken from
	counted  time.Time // the status was written last
	told     bool      // the event that deletion waits was recorded
	futile   string    // a write of the status that changed nothing: the definition lacks its fields

	connection commonv1.ConditionReason // that was told last
}

func newMemory() *memory { return &memory{configs: map[types.NamespacedName]*record{}} }

// Of returns the record of a configuration, a new one if it is another of the name.
func (m *memory) of(name types.NamespacedName, uid types.UID) *record {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.configs[name]
	if r == nil || r.uid != uid {
		r = &record{uid: uid}
		m.configs[name] = r
	}

	return r
}

func (m *memory) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.configs, name)
}

// Ahead reports whether our last write is newer than a version that was read. The
// answer to the write that lets an object go need not have a newer one.
func (r *record) ahead(version string) bool {
	if r.released != "" && r.released == version {
		return true
	}
	if r.version == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, r.version)

	return err == nil && order < 0
}
