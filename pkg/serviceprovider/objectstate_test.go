package serviceprovider

import "testing"

// TestObjectState verifies that an object uses its last configuration until its last finalizer is
// removed.
func TestObjectState(t *testing.T) {
	s := &objectState[Config]{writtenVersion: "8"}
	if _, ok := s.lastConfig(); ok {
		t.Error("a new object has a configuration")
	}
	s.setLastConfig(nil)
	if _, ok := s.lastConfig(); !ok {
		t.Error("the configuration is not stored")
	}
	if !s.isStale("7") || s.isStale("8") || s.isStale("10") {
		t.Error("other reads are stale than those of a version before our write")
	}
	s.markFinalizersRemoved()
	if _, ok := s.lastConfig(); ok || !s.isStale("7") || !s.isStale("10") {
		t.Error("an object without finalizers has a configuration, or a read of it is not stale")
	}
}
