package serviceprovider

import (
	"sync"

	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/secrecy"
)

// objectState is the in-memory state of one object. It is removed when the object is gone. Only one worker at a time
// uses it.
type objectState[C Config] struct {
	writtenVersion    string // resourceVersion of our last write
	finalizersRemoved bool   // our last write removed the last finalizer

	connections []secrecy.Connection // the connections that the domain got last

	// The last used configuration. The lock guards it, because event handlers read it, too.
	mu        sync.Mutex
	config    C
	hasConfig bool
}

// lastConfig returns the configuration that was last used for the object.
func (s *objectState[C]) lastConfig() (C, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.config, s.hasConfig
}

// setLastConfig stores the configuration that is used for the object.
func (s *objectState[C]) setLastConfig(c C) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config, s.hasConfig = c, true
}

// markFinalizersRemoved records that our last write has removed the last finalizer, so the object is gone. The cache
// may still contain the object. The state is removed when a read does not find the object.
func (s *objectState[C]) markFinalizersRemoved() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none C
	s.finalizersRemoved, s.config, s.hasConfig, s.connections = true, none, false, nil
}

// isStale reports whether a resourceVersion is older than our last write. After the last finalizer was removed, it
// returns true for every version.
func (s *objectState[C]) isStale(version string) bool {
	return s.finalizersRemoved || freshness.IsOlder(version, s.writtenVersion)
}
