package serviceprovider

import (
	"sync"

	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/secrecy"
)

// objectState is what the process remembers of one object until the object is gone. One worker at a
// time uses it.
type objectState[C Config] struct {
	writtenVersion    string // resourceVersion of our last write
	finalizersRemoved bool   // our last write removed the last finalizer

	connections []secrecy.Connection // the last ones the domain was given

	// The configuration used last. The lock guards it, because event handlers read it, too.
	mu        sync.Mutex
	config    C
	hasConfig bool
}

// lastConfig returns the configuration that was used last for the object.
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

// markFinalizersRemoved records that the object is gone with our last write, because the cache may
// still contain it. A read that does not find the object removes the state.
func (s *objectState[C]) markFinalizersRemoved() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none C
	s.finalizersRemoved, s.config, s.hasConfig, s.connections = true, none, false, nil
}

// isStale reports whether a resourceVersion is older than our last write. Every one is after the
// write that removed the last finalizer.
func (s *objectState[C]) isStale(version string) bool {
	return s.finalizersRemoved || freshness.IsOlder(version, s.writtenVersion)
}
