package resource

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A Manageable is an object that has management policies in its spec. An action is allowed only if both the policies
// in the spec and the annotations of the object allow it.
type Manageable interface {
	GetManagementPolicies() commonv1.ManagementPolicies
}

// A DriftReporter is an object whose status records in which fields the external resource differs from the spec.
// commonv1.DriftStatus implements it.
type DriftReporter interface {
	GetDrift() *commonv1.Drift
	SetDrift(d *commonv1.Drift)
}

// A GenerationObserver is an object whose status has the observed generation. commonv1.ObservedStatus implements it.
type GenerationObserver interface {
	GetObservedGeneration() int64
	SetObservedGeneration(generation int64)
}

// A ReconcileRequestee is an object whose status has the last handled value of the annotation
// meta.AnnotationKeyReconcileRequestedAt. commonv1.ObservedStatus implements it.
type ReconcileRequestee interface {
	GetLastHandledReconcileAt() string
	SetLastHandledReconcileAt(token string)
}

// A ConnectionSecretWriterTo is an object that names the Secret for its connection details. The Secret is in the
// namespace of the object. Nil means that the object names no Secret.
type ConnectionSecretWriterTo interface {
	GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference
}

// A ConnectionDetailsHasher is an object whose status has a hash of its published connection details.
// commonv1.ConnectionStatus implements it.
type ConnectionDetailsHasher interface {
	GetConnectionDetailsHash() string
	SetConnectionDetailsHash(hash string)
}

// A ProviderConfigReferencer is an object that names the configuration of the connection to its external system. Nil
// means that the object names no configuration.
type ProviderConfigReferencer interface {
	GetProviderConfigReference() *commonv1.ProviderConfigReference
}
