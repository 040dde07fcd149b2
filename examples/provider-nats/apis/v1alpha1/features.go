package v1alpha1

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// The methods by which the reconciler publishes connection details, which not every provider has. They are
// the same for each kind; the other methods of all managed kinds are in zz_generated.moorage.go.

// GetWriteConnectionSecretToReference returns the Secret for the connection
// details, or nil.
func (s *Stream) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return s.Spec.secret()
}

// GetConnectionDetailsHash returns the hash of what was published last.
func (s *Stream) GetConnectionDetailsHash() string { return s.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of what was published last.
func (s *Stream) SetConnectionDetailsHash(hash string) { s.Status.SetConnectionDetailsHash(hash) }

// GetDrift returns the recorded differences, or nil.
func (s *Stream) GetDrift() *commonv1.Drift { return s.Status.GetDrift() }

// SetDrift records differences.
func (s *Stream) SetDrift(d *commonv1.Drift) { s.Status.SetDrift(d) }

// GetWriteConnectionSecretToReference returns the Secret for the connection
// details, or nil.
func (k *KeyValue) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return k.Spec.secret()
}

// GetConnectionDetailsHash returns the hash of what was published last.
func (k *KeyValue) GetConnectionDetailsHash() string { return k.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of what was published last.
func (k *KeyValue) SetConnectionDetailsHash(hash string) { k.Status.SetConnectionDetailsHash(hash) }

// GetDrift returns the recorded differences, or nil.
func (k *KeyValue) GetDrift() *commonv1.Drift { return k.Status.GetDrift() }

// SetDrift records differences.
func (k *KeyValue) SetDrift(d *commonv1.Drift) { k.Status.SetDrift(d) }

// GetWriteConnectionSecretToReference returns the Secret for the connection
// details, or nil.
func (o *ObjectStore) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return o.Spec.secret()
}

// GetConnectionDetailsHash returns the hash of what was published last.
func (o *ObjectStore) GetConnectionDetailsHash() string { return o.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of what was published last.
func (o *ObjectStore) SetConnectionDetailsHash(hash string) { o.Status.SetConnectionDetailsHash(hash) }

// GetDrift returns the recorded differences, or nil.
func (o *ObjectStore) GetDrift() *commonv1.Drift { return o.Status.GetDrift() }

// SetDrift records differences.
func (o *ObjectStore) SetDrift(d *commonv1.Drift) { o.Status.SetDrift(d) }

// GetWriteConnectionSecretToReference returns the Secret for the connection
// details, or nil.
func (c *Consumer) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return c.Spec.secret()
}

// GetConnectionDetailsHash returns the hash of what was published last.
func (c *Consumer) GetConnectionDetailsHash() string { return c.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of what was published last.
func (c *Consumer) SetConnectionDetailsHash(hash string) { c.Status.SetConnectionDetailsHash(hash) }

// GetDrift returns the recorded differences, or nil.
func (c *Consumer) GetDrift() *commonv1.Drift { return c.Status.GetDrift() }

// SetDrift records differences.
func (c *Consumer) SetDrift(d *commonv1.Drift) { c.Status.SetDrift(d) }
