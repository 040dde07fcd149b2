// Package freshness prevents a reconciler from acting on a stale read. A read is stale if the object is older than
// the last write of it by this process. Start with Record. If the reconciler keeps the version of its last write
// elsewhere, start with IsOlder.
package freshness

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// RetryDelay is the time until the next pass while the cache is stale.
const RetryDelay = time.Second

// maxStaleReads is the number of passes that wait for the cache to catch up. It may never do
// so: an API server that was restored from a backup returns lower versions than this process
// has seen.
const maxStaleReads = 3

// A Record holds the version of this process's last write of one object. It also counts the consecutive passes that
// have read an older version. Another object with the same name needs a new Record. The zero value is for an object
// that this process has not written. It is not safe for concurrent use.
type Record struct {
	Version string // resourceVersion in the response to the last write

	staleReads    int
	lastStaleRead time.Time
}

// IsStale reports whether a resourceVersion is older than the last write.
func (r *Record) IsStale(version string) bool { return IsOlder(version, r.Version) }

// AddStaleRead counts a pass that did nothing because its read was stale or its write conflicted. Passes within
// RetryDelay of each other count as one. So hundreds of events while the cache catches up do not cause reads from the
// API server.
func (r *Record) AddStaleRead(now time.Time) {
	if since := now.Sub(r.lastStaleRead); r.staleReads > 0 && since >= 0 && since < RetryDelay {
		return
	}
	r.staleReads, r.lastStaleRead = r.staleReads+1, now
}

// ResetStaleReads records a pass whose read was not stale.
func (r *Record) ResetStaleReads() { r.staleReads = 0 }

// NeedsLiveRead reports whether so many consecutive reads were stale that the object has to be read from the API
// server.
func (r *Record) NeedsLiveRead() bool { return r.staleReads >= maxStaleReads }

// IsOlder reports whether resourceVersion a precedes resourceVersion b. It returns false for versions that cannot be
// compared, such as an empty version.
func IsOlder(a, b string) bool {
	if a == "" || b == "" || a == b {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)

	return err == nil && order < 0
}

// SilentRequeue returns the result of a pass that ended in a conflict or a stale read. The result requeues the
// request with backoff, without an error, which would be logged and counted.
func SilentRequeue() reconcile.Result {
	//nolint:staticcheck // the only rate-limited requeue without an error: RequeueAfter would reset the backoff
	return reconcile.Result{Requeue: true}
}
