package serviceprovider

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/secrecy"
)

// objectStates holds the state of each object, until it is gone. One object is used by one worker
// at a time.
type objectStates[C Config] struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*objectState[C]
}

// objectState is what the process remembers of one object.
type objectState[C Config] struct {
	uid               types.UID
	writtenVersion    string // resourceVersion of our last write
	finalizersRemoved bool   // our last write removed the last finalizer

	connections []secrecy.Connection // the last ones the domain was given

	// The configuration used last. The lock of objectStates guards it, because event handlers read it, too.
	config    C
	hasConfig bool
}

// newObjectStates returns an empty objectStates.
func newObjectStates[C Config]() *objectStates[C] {
	return &objectStates[C]{objects: map[types.NamespacedName]*objectState[C]{}}
}

// ensure returns the state of an object. It makes a new one for another UID of the name.
func (s *objectStates[C]) ensure(name types.NamespacedName, uid types.UID) *objectState[C] {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.objects[name]
	if r == nil || r.uid != uid {
		r = &objectState[C]{uid: uid}
		s.objects[name] = r
	}

	return r
}

// lookup returns the state of an object, if there is one.
func (s *objectStates[C]) lookup(name types.NamespacedName) (*objectState[C], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.objects[name]

	return r, ok
}

// lastConfig returns the configuration that was used last for an object.
func (s *objectStates[C]) lastConfig(name types.NamespacedName) (C, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.objects[name]
	if r == nil || !r.hasConfig {
		var none C

		return none, false
	}

	return r.config, true
}

// setLastConfig stores the configuration that is used for an object.
func (s *objectStates[C]) setLastConfig(r *objectState[C], c C) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.config, r.hasConfig = c, true
}

// markFinalizersRemoved records that the object is gone with our last write, because the cache may
// still contain it. A read that does not find the object removes the state.
func (s *objectStates[C]) markFinalizersRemoved(r *objectState[C]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none C
	r.finalizersRemoved, r.config, r.hasConfig, r.connections = true, none, false, nil
}

// forget removes the state of an object.
func (s *objectStates[C]) forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
}

// writtenAfter reports whether our last write is newer than the given resourceVersion. It is false
// before the first write, and true after the one that removed the last finalizer.
func (r *objectState[C]) writtenAfter(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, r.writtenVersion)

	return err == nil && order < 0 || r.finalizersRemoved
}
