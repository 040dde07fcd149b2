package xp

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Manageable is an object that has management policies.
type Manageable interface {
	resource.Manageable

	SetManagementPolicies(p commonv1.ManagementPolicies)
}

// A ProviderConfigReferencer is an object that names its configuration.
type ProviderConfigReferencer interface {
	resource.ProviderConfigReferencer

	SetProviderConfigReference(r *commonv1.ProviderConfigReference)
}

// A ModernManaged is a managed resource of a namespaced kind, with the methods that angryjet generates for it.
type ModernManaged interface {
	resource.Managed
	Manageable
	ProviderConfigReferencer
	resource.ConnectionSecretWriterTo

	// SetWriteConnectionSecretToReference sets the Secret. Nil means no Secret.
	SetWriteConnectionSecretToReference(r *commonv1.LocalSecretReference)
}

// A LegacyManaged is a managed resource of a cluster-scoped kind, with the methods that angryjet generates for it.
type LegacyManaged interface {
	resource.Managed
	Manageable
	ProviderConfigReferencer
	SecretWriterTo
	Orphanable

	// SetWriteConnectionSecretToReference sets the Secret. Nil means no Secret.
	SetWriteConnectionSecretToReference(r *SecretReference)
}

// A SecretWriterTo is an object that names the Secret for its connection details, in any namespace. Nil means that the
// object names no Secret.
type SecretWriterTo interface {
	GetWriteConnectionSecretToReference() *SecretReference
}

// An Orphanable is an object that has a deletion policy.
type Orphanable interface {
	GetDeletionPolicy() DeletionPolicy
	SetDeletionPolicy(p DeletionPolicy)
}

// A ProviderConfig is a configuration with conditions.
type ProviderConfig interface {
	providerconfig.Config
	resource.Conditioned
}

// A ProviderConfigUsageObject is an object that records the use of a configuration.
type ProviderConfigUsageObject interface{ resource.Object }

// A Tracker records which objects use a configuration.
type Tracker interface {
	Track(ctx context.Context, mg resource.Managed) error
}

// A ModernTracker is a Tracker for objects of namespaced kinds.
type ModernTracker interface {
	Track(ctx context.Context, mg ModernManaged) error
}

// A LegacyTracker is a Tracker for objects of cluster-scoped kinds.
type LegacyTracker interface {
	Track(ctx context.Context, mg LegacyManaged) error
}

// A UsageTracker does nothing. providerconfig.Setup finds the users of a configuration by itself, and needs no object
// for each use.
type UsageTracker struct{}

// NewUsageTracker returns a UsageTracker.
func NewUsageTracker(client.Client, ProviderConfigUsageObject) *UsageTracker { return &UsageTracker{} }

// Track returns nil.
func (*UsageTracker) Track(context.Context, resource.Managed) error { return nil }

// A ProviderConfigUsageTracker is a UsageTracker for objects of namespaced kinds.
type ProviderConfigUsageTracker struct{}

// NewProviderConfigUsageTracker returns a ProviderConfigUsageTracker.
func NewProviderConfigUsageTracker(client.Client, ProviderConfigUsageObject) *ProviderConfigUsageTracker {
	return &ProviderConfigUsageTracker{}
}

// Track returns nil.
func (*ProviderConfigUsageTracker) Track(context.Context, ModernManaged) error { return nil }

// A LegacyProviderConfigUsageTracker is a UsageTracker for objects of cluster-scoped kinds.
type LegacyProviderConfigUsageTracker struct{}

// NewLegacyProviderConfigUsageTracker returns a LegacyProviderConfigUsageTracker.
func NewLegacyProviderConfigUsageTracker(client.Client, ProviderConfigUsageObject) *LegacyProviderConfigUsageTracker {
	return &LegacyProviderConfigUsageTracker{}
}

// Track returns nil.
func (*LegacyProviderConfigUsageTracker) Track(context.Context, LegacyManaged) error { return nil }

// CommonCredentialExtractor returns the credentials that a cluster-scoped configuration names in a Secret. It has no
// access to environment variables, files of the provider and the injected identity. The operator has to allow these
// sources: use credentials.New with its options.
//
// The reader should read without a cache, as the result of GetAPIReader of a manager does. Branch on errors with
// credentials.IsNotAllowed and credentials.IsMissing.
func CommonCredentialExtractor(ctx context.Context, source commonv1.CredentialsSource, secrets client.Reader,
	selector commonv1.CommonCredentialSelectors) ([]byte, error) {
	return credentials.New(secrets).Extract(ctx, "", source, selector)
}
