package providerconfig

import (
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/freshness"
)

// A record is the in-memory state of one configuration. It is removed when the configuration is gone. Only one worker
// at a time uses it.
type record struct {
	freshness.Record

	released      string    // the version before the finalizer was removed
	statusWritten time.Time // time of the last write of the status
	waitReported  bool      // the event that deletion waits was recorded
	prunedPatch   string    // a patch of the status that changed nothing: the CRD lacks the fields

	connection commonv1.ConditionReason // reported by the last event
}

// IsStale reports whether version is older than the last write of this process. It also returns true for the version
// from which the last finalizer was removed, because the API server need not return a newer version for this write.
func (r *record) IsStale(version string) bool {
	return r.Record.IsStale(version) || r.released != "" && r.released == version
}
