package reconciler

import (
	"time"

	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// What is shared by those who call over one connection.
type (
	// A Connection is what the calls of several clients go over.
	Connection = managed.Connection

	// A ConnectionDescriber is an ExternalClient that tells over which connection
	// its calls go.
	ConnectionDescriber = managed.ConnectionDescriber

	// An ExternalLister is an ExternalClient that can list what exists.
	ExternalLister = managed.ExternalLister

	// An ExternalListPage is a part of such a list.
	ExternalListPage = managed.ExternalListPage

	// A ListedResource is an external resource that a list has shown.
	ListedResource = managed.ListedResource

	// An ExternalEventSource tells what changes in the external system.
	ExternalEventSource = managed.ExternalEventSource

	// ExternalNotifications is what an ExternalEventSource tells.
	ExternalNotifications = managed.ExternalNotifications
)

// WithLimits is [managed.WithLimits].
func WithLimits(set *limit.Set) ReconcilerOption { return managed.WithLimits(set) }

// WithBulkObservation is [managed.WithBulkObservation].
func WithBulkObservation(staleness time.Duration) ReconcilerOption {
	return managed.WithBulkObservation(staleness)
}

// WithExternalEvents is [managed.WithExternalEvents].
func WithExternalEvents(s ExternalEventSource, pollWhenHealthy time.Duration) ReconcilerOption {
	return managed.WithExternalEvents(s, pollWhenHealthy)
}
