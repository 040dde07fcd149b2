package resource

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A Manageable has management policies in its spec. An action is allowed if both
// these and the annotations of the object allow it.
type Manageable interface {
	GetManagementPolicies() commonv1.ManagementPolicies
}

// A GenerationObserver has the generation in its status that the status is about.
// commonv1.ObservedStatus implements it.
type GenerationObserver interface {
	GetObservedGeneration() int64
	SetObservedGeneration(generation int64)
}

// A ReconcileRequestee has the request for a pass in its status that was handled
// last, see meta.AnnotationKeyReconcileRequestedAt. commonv1.ObservedStatus
// implements it.
type ReconcileRequestee interface {
	GetLastHandledReconcileAt() string
	SetLastHandledReconcileAt(token string)
}

// A ConnectionSecretWriterTo names the Secret, in its own namespace, to which its
// connection details are written. Nil is none.
type ConnectionSecretWriterTo interface {
	GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference
}

// A ConnectionDetailsHasher has a hash of its published connection details in its
// status. commonv1.ConnectionStatus implements it.
type ConnectionDetailsHasher interface {
	GetConnectionDetailsHash() string
	SetConnectionDetailsHash(hash string)
}

// A ProviderConfigReferencer names the configuration of the connection to its
// external system. Nil is none.
type ProviderConfigReferencer interface {
	GetProviderConfigReference() *commonv1.ProviderConfigReference
}
