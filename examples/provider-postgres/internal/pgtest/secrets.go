package pgtest

import (
	"bytes"
	"context"
	"maps"
	"sync"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Secrets are the connection Secrets of all objects, in memory. A new object with the name of an old one has a new
// Secret, as in a cluster, whose garbage collector removes the old one. Use NewSecrets. It may be used concurrently.
type Secrets struct {
	mu    sync.Mutex
	data  map[string]map[string][]byte
	reads int
}

// NewSecrets returns Secrets of which there are none yet.
func NewSecrets() *Secrets { return &Secrets{data: map[string]map[string][]byte{}} }

// Secret returns a copy of the data of a Secret.
func (s *Secrets) Secret(_ context.Context, mg resource.Managed, name string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++

	return maps.Clone(s.data[string(mg.GetUID())+"/"+name]), nil
}

// PublishConnection writes details as the reconciler does: other keys stay.
func (s *Secrets) PublishConnection(
	_ context.Context, mg resource.Managed, details managed.ConnectionDetails,
) (bool, error) {
	to, ok := mg.(resource.ConnectionSecretWriterTo)
	if !ok || to.GetWriteConnectionSecretToReference() == nil {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := string(mg.GetUID()) + "/" + to.GetWriteConnectionSecretToReference().Name
	before := s.data[key]
	after := map[string][]byte{}
	maps.Copy(after, before)
	maps.Copy(after, details)
	s.data[key] = after

	return !maps.EqualFunc(before, after, bytes.Equal), nil
}

// Reads returns how many times a Secret was read.
func (s *Secrets) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.reads
}

// Values returns what any Secret has under a key.
func (s *Secrets) Values(key string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, data := range s.data {
		if value := data[key]; len(value) > 0 {
			out = append(out, string(value))
		}
	}

	return out
}
