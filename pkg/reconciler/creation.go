package reconciler

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A CreationRecoverer is a [managed.CreationRecoverer].
type CreationRecoverer = managed.CreationRecoverer

// A TypedCreationRecoverer is a [managed.TypedCreationRecoverer].
type TypedCreationRecoverer[T resource.Managed] = managed.TypedCreationRecoverer[T]

// A BackendIdentifier is a [managed.BackendIdentifier].
type BackendIdentifier = managed.BackendIdentifier

// CreationToken is [managed.CreationToken].
func CreationToken(ctx context.Context) string { return managed.CreationToken(ctx) }

// ContextWithCreationToken is [managed.ContextWithCreationToken].
func ContextWithCreationToken(ctx context.Context, token string) context.Context {
	return managed.ContextWithCreationToken(ctx, token)
}

// WithCreationTokens is [managed.WithCreationTokens].
func WithCreationTokens() ReconcilerOption { return managed.WithCreationTokens() }

// WithStrictCreateErrors is [managed.WithStrictCreateErrors].
func WithStrictCreateErrors() ReconcilerOption { return managed.WithStrictCreateErrors() }

// WithCreateErrorsAsFailures is [managed.WithCreateErrorsAsFailures].
//
// Deprecated: it has no effect.
func WithCreateErrorsAsFailures() ReconcilerOption { return managed.WithCreateErrorsAsFailures() }

// TellConnectionDetails is [managed.TellConnectionDetails].
func TellConnectionDetails(ctx context.Context, details ConnectionDetails) {
	managed.TellConnectionDetails(ctx, details)
}

// WithCreationConnectionDetails is [managed.WithCreationConnectionDetails].
func WithCreationConnectionDetails() ReconcilerOption { return managed.WithCreationConnectionDetails() }

// WithConnectionSecretType is [managed.WithConnectionSecretType].
func WithConnectionSecretType(t corev1.SecretType) ReconcilerOption {
	return managed.WithConnectionSecretType(t)
}

// A ConnectionPreparer is a [managed.ConnectionPreparer].
type ConnectionPreparer = managed.ConnectionPreparer

// WithAdoptionPolicy is [managed.WithAdoptionPolicy].
func WithAdoptionPolicy(policy string) ReconcilerOption { return managed.WithAdoptionPolicy(policy) }

// WithAllowedAdoptionPolicies is [managed.WithAllowedAdoptionPolicies].
func WithAllowedAdoptionPolicies(policies ...string) ReconcilerOption {
	return managed.WithAllowedAdoptionPolicies(policies...)
}

// WithDeletionGuard is [managed.WithDeletionGuard].
func WithDeletionGuard() ReconcilerOption { return managed.WithDeletionGuard() }

// WithKindDeletionGuard is [managed.WithKindDeletionGuard].
func WithKindDeletionGuard() ReconcilerOption { return managed.WithKindDeletionGuard() }

// WithNamespaceDeletionGuard is [managed.WithNamespaceDeletionGuard].
func WithNamespaceDeletionGuard() ReconcilerOption { return managed.WithNamespaceDeletionGuard() }

// WithRestoreDetector is [managed.WithRestoreDetector].
func WithRestoreDetector(d *controller.RestoreDetector) ReconcilerOption {
	return managed.WithRestoreDetector(d)
}

// WithRestoreElsewhere is [managed.WithRestoreElsewhere].
func WithRestoreElsewhere() ReconcilerOption { return managed.WithRestoreElsewhere() }

// WithLivenessCheck is [managed.WithLivenessCheck].
func WithLivenessCheck(check bool) ReconcilerOption { return managed.WithLivenessCheck(check) }

// WithRecreationOnRequest is [managed.WithRecreationOnRequest].
func WithRecreationOnRequest() ReconcilerOption { return managed.WithRecreationOnRequest() }

// WithFence is [managed.WithFence].
func WithFence(fence func(context.Context) error) ReconcilerOption { return managed.WithFence(fence) }

// WithLeaseDeadline is [managed.WithLeaseDeadline].
func WithLeaseDeadline(deadline func() time.Time) ReconcilerOption {
	return managed.WithLeaseDeadline(deadline)
}

// WithWatch is [managed.WithWatch].
func WithWatch(object client.Object, h handler.EventHandler) ReconcilerOption {
	return managed.WithWatch(object, h)
}
