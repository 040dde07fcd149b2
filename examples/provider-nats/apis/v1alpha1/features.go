package v1alpha1

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// The methods by which the reconciler reads and writes what all managed kinds
// have in common. Those of one kind are those of any other.

// GetCondition returns the condition of the given type, with status Unknown if
// there is none.
func (s *Stream) GetCondition(ct commonv1.ConditionType) commonv1.Condition {
	return s.Status.GetCondition(ct)
}

// SetConditions sets conditions by their type.
func (s *Stream) SetConditions(conditions ...commonv1.Condition) {
	s.Status.SetConditions(conditions...)
}

// GetProviderConfigReference returns which configuration to connect with.
func (s *Stream) GetProviderConfigReference() *commonv1.ProviderConfigReference {
	return s.Spec.reference()
}

// GetManagementPolicies returns what may be done in NATS.
func (s *Stream) GetManagementPolicies() commonv1.ManagementPolicies {
	return s.Spec.ManagementPolicies
}

// GetWriteConnectionSecretToReference returns the Secret for the connection
// details, or nil.
func (s *Stream) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return s.Spec.secret()
}

// GetObservedGeneration returns the generation that the status is about.
func (s *Stream) GetObservedGeneration() int64 { return s.Status.GetObservedGeneration() }

// SetObservedGeneration sets the generation that the status is about.
func (s *Stream) SetObservedGeneration(generation int64) { s.Status.SetObservedGeneration(generation) }

// GetLastHandledReconcileAt returns the request that was handled last.
func (s *Stream) GetLastHandledReconcileAt() string { return s.Status.GetLastHandledReconcileAt() }

// SetLastHandledReconcileAt sets the request that was handled last.
func (s *Stream) SetLastHandledReconcileAt(token string) { s.Status.SetLastHandledReconcileAt(token) }

// GetConnectionDetailsHash returns the hash of what was published last.
func (s *Stream) GetConnectionDetailsHash() string { return s.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of what was published last.
func (s *Stream) SetConnectionDetailsHash(hash string) { s.Status.SetConnectionDetailsHash(hash) }

// GetCondition returns the condition of the given type, with status Unknown if
// there is none.
func (k *KeyValue) GetCondition(ct commonv1.ConditionType) commonv1.Condition {
	return k.Status.GetCondition(ct)
}

// SetConditions sets conditions by their type.
func (k *KeyValue) SetConditions(conditions ...commonv1.Condition) {
	k.Status.SetConditions(conditions...)
}

// GetProviderConfigReference returns which configuration to connect with.
func (k *KeyValue) GetProviderConfigReference() *commonv1.ProviderConfigReference {
	return k.Spec.reference()
}

// GetManagementPolicies returns what may be done in NATS.
func (k *KeyValue) GetManagementPolicies() commonv1.ManagementPolicies {
	return k.Spec.ManagementPolicies
}

// GetWriteConnectionSecretToReference returns the Secret for the connection
// details, or nil.
func (k *KeyValue) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return k.Spec.secret()
}

// GetObservedGeneration returns the generation that the status is about.
func (k *KeyValue) GetObservedGeneration() int64 { return k.Status.GetObservedGeneration() }

// SetObservedGeneration sets the generation that the status is about.
func (k *KeyValue) SetObservedGeneration(generation int64) {
	k.Status.SetObservedGeneration(generation)
}

// GetLastHandledReconcileAt returns the request that was handled last.
func (k *KeyValue) GetLastHandledReconcileAt() string { return k.Status.GetLastHandledReconcileAt() }

// SetLastHandledReconcileAt sets the request that was handled last.
func (k *KeyValue) SetLastHandledReconcileAt(token string) { k.Status.SetLastHandledReconcileAt(token) }

// GetConnectionDetailsHash returns the hash of what was published last.
func (k *KeyValue) GetConnectionDetailsHash() string { return k.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of what was published last.
func (k *KeyValue) SetConnectionDetailsHash(hash string) { k.Status.SetConnectionDetailsHash(hash) }

// GetCondition returns the condition of the given type, with status Unknown if
// there is none.
func (o *ObjectStore) GetCondition(ct commonv1.ConditionType) commonv1.Condition {
	return o.Status.GetCondition(ct)
}

// SetConditions sets conditions by their type.
func (o *ObjectStore) SetConditions(conditions ...commonv1.Condition) {
	o.Status.SetConditions(conditions...)
}

// GetProviderConfigReference returns which configuration to connect with.
func (o *ObjectStore) GetProviderConfigReference() *commonv1.ProviderConfigReference {
	return o.Spec.reference()
}

// GetManagementPolicies returns what may be done in NATS.
func (o *ObjectStore) GetManagementPolicies() commonv1.ManagementPolicies {
	return o.Spec.ManagementPolicies
}

// GetWriteConnectionSecretToReference returns the Secret for the connection
// details, or nil.
func (o *ObjectStore) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return o.Spec.secret()
}

// GetObservedGeneration returns the generation that the status is about.
func (o *ObjectStore) GetObservedGeneration() int64 { return o.Status.GetObservedGeneration() }

// SetObservedGeneration sets the generation that the status is about.
func (o *ObjectStore) SetObservedGeneration(generation int64) {
	o.Status.SetObservedGeneration(generation)
}

// GetLastHandledReconcileAt returns the request that was handled last.
func (o *ObjectStore) GetLastHandledReconcileAt() string { return o.Status.GetLastHandledReconcileAt() }

// SetLastHandledReconcileAt sets the request that was handled last.
func (o *ObjectStore) SetLastHandledReconcileAt(token string) {
	o.Status.SetLastHandledReconcileAt(token)
}

// GetConnectionDetailsHash returns the hash of what was published last.
func (o *ObjectStore) GetConnectionDetailsHash() string { return o.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of what was published last.
func (o *ObjectStore) SetConnectionDetailsHash(hash string) { o.Status.SetConnectionDetailsHash(hash) }

// GetCondition returns the condition of the given type, with status Unknown if
// there is none.
func (c *Consumer) GetCondition(ct commonv1.ConditionType) commonv1.Condition {
	return c.Status.GetCondition(ct)
}

// SetConditions sets conditions by their type.
func (c *Consumer) SetConditions(conditions ...commonv1.Condition) {
	c.Status.SetConditions(conditions...)
}

// GetProviderConfigReference returns which configuration to connect with.
func (c *Consumer) GetProviderConfigReference() *commonv1.ProviderConfigReference {
	return c.Spec.reference()
}

// GetManagementPolicies returns what may be done in NATS.
func (c *Consumer) GetManagementPolicies() commonv1.ManagementPolicies {
	return c.Spec.ManagementPolicies
}

// GetWriteConnectionSecretToReference returns the Secret for the connection
// details, or nil.
func (c *Consumer) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return c.Spec.secret()
}

// GetObservedGeneration returns the generation that the status is about.
func (c *Consumer) GetObservedGeneration() int64 { return c.Status.GetObservedGeneration() }

// SetObservedGeneration sets the generation that the status is about.
func (c *Consumer) SetObservedGeneration(generation int64) {
	c.Status.SetObservedGeneration(generation)
}

// GetLastHandledReconcileAt returns the request that was handled last.
func (c *Consumer) GetLastHandledReconcileAt() string { return c.Status.GetLastHandledReconcileAt() }

// SetLastHandledReconcileAt sets the request that was handled last.
func (c *Consumer) SetLastHandledReconcileAt(token string) { c.Status.SetLastHandledReconcileAt(token) }

// GetConnectionDetailsHash returns the hash of what was published last.
func (c *Consumer) GetConnectionDetailsHash() string { return c.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of what was published last.
func (c *Consumer) SetConnectionDetailsHash(hash string) { c.Status.SetConnectionDetailsHash(hash) }
