package resource

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A Manageable says in its spec what may be done with its external resource.
// What it allows, and what the annotations of its object allow, is allowed.
type Manageable interface {
	GetManagementPolicies() commonv1.ManagementPolicies
}

// A GenerationObserver tells in its status which generation it is about.
// commonv1.ObservedStatus says how.
type GenerationObserver interface {
	GetObservedGeneration() int64
	SetObservedGeneration(generation int64)
}

// A ReconcileRequestee tells in its status which request for a pass, see
// meta.AnnotationKeyReconcileRequestedAt, was handled last.
// commonv1.ObservedStatus says how.
type ReconcileRequestee interface {
	GetLastHandledReconcileAt() string
	SetLastHandledReconcileAt(token string)
}

// A ConnectionSecretWriterTo names the Secret in its own namespace that its
// connection details are written to. Nil is none.
type ConnectionSecretWriterTo interface {
	GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference
}

// A ConnectionDetailsHasher remembers in its status what was published of its
// connection details. commonv1.ConnectionStatus says how.
type ConnectionDetailsHasher interface {
	GetConnectionDetailsHash() string
	SetConnectionDetailsHash(hash string)
}

// A ProviderConfigReferencer names the configuration with which its external
// system is reached. Nil is none.
type ProviderConfigReferencer interface {
	GetProviderConfigReference() *commonv1.ProviderConfigReference
}
