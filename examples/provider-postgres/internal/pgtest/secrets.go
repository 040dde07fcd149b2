package pgtest

import (
	"bytes"
	"context"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Secrets are the connection Secrets of all objects, in memory. A Secret belongs to the object that published to it
// first, and other objects can only read it. An object with the name of that object replaces it, as in a cluster
// whose garbage collector removes the Secret of a deleted object. Use NewSecrets. It may be used concurrently.
type Secrets struct {
	mu    sync.Mutex
	all   map[types.NamespacedName]*corev1.Secret
	reads int
}

// NewSecrets returns Secrets of which there are none yet.
func NewSecrets() *Secrets { return &Secrets{all: map[types.NamespacedName]*corev1.Secret{}} }

// Secret returns a copy of the Secret that an object names, or nil. It may belong to another object.
func (s *Secrets) Secret(_ context.Context, mg resource.Managed, name string) (*corev1.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++

	return s.all[types.NamespacedName{Namespace: mg.GetNamespace(), Name: name}].DeepCopy(), nil
}

// PublishConnection writes details as the reconciler does: other keys stay, and a Secret of an object with another
// name is left alone.
func (s *Secrets) PublishConnection(
	_ context.Context, mg resource.Managed, details managed.ConnectionDetails,
) (bool, error) {
	to, ok := mg.(resource.ConnectionSecretWriterTo)
	if !ok || to.GetWriteConnectionSecretToReference() == nil {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := types.NamespacedName{Namespace: mg.GetNamespace(), Name: to.GetWriteConnectionSecretToReference().Name}
	before := s.all[key]
	if before != nil && before.OwnerReferences[0].Name != mg.GetName() {
		return false, external.Terminal(string(commonv1.ReasonConnectionSecretNotOwned),
			errors.Errorf("the Secret %q belongs to another object", key.Name))
	}
	after := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name,
		OwnerReferences: []metav1.OwnerReference{{Name: mg.GetName(), UID: mg.GetUID(), Controller: new(true)}},
	}, Data: map[string][]byte{}}
	if before != nil && metav1.IsControlledBy(before, mg) {
		maps.Copy(after.Data, before.Data)
	}
	maps.Copy(after.Data, details)
	s.all[key] = after

	return before == nil || !maps.EqualFunc(before.Data, after.Data, bytes.Equal), nil
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
	for _, secret := range s.all {
		if value := secret.Data[key]; len(value) > 0 {
			out = append(out, string(value))
		}
	}

	return out
}
