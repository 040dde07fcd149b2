package providerconfig

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A record is the in-memory state of one configuration. It is dropped with the
// configuration. One worker at a time uses it.
type record struct {
	version       string    // returned by the last write of this process
	released      string    // the version before the finalizer was removed
	statusWritten time.Time // time of the last write of the status
	waitReported  bool      // the event that deletion waits was recorded
	prunedPatch   string    // a patch of the status that changed nothing: the CRD lacks the fields

	connection commonv1.ConditionReason // reported by the last event

	staleReads    int       // consecutive passes that did nothing, because the cache lagged behind
	lastStaleRead time.Time // time of the last of them
}

// isStale reports whether version is older than the last write of this process. The
// response to the write that removes the last finalizer need not have a newer version.
func (r *record) isStale(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, r.version) // an error before the first write

	return err == nil && order < 0 || r.released != "" && r.released == version
}

// recordStaleRead counts a pass that did nothing because its read was older than the last
// write of this process, or because its write conflicted. Passes within a second of each
// other count as one: the API server is not read for each of hundreds of users that
// change while the cache lags.
func (r *record) recordStaleRead(now time.Time) {
	if since := now.Sub(r.lastStaleRead); r.staleReads > 0 && since >= 0 && since < retryDelay {
		return
	}
	r.staleReads, r.lastStaleRead = r.staleReads+1, now
}
