package providerconfig

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A record is of what was done with a configuration, and is dropped with it. One
// configuration is used by one worker at a time.
type record struct {
	version  string    // our last write was answered with
	released string    // the version that our finalizer was taken from
	counted  time.Time // the status was written last
	told     bool      // the event that deletion waits was recorded
	futile   string    // a write of the status that changed nothing: the definition lacks its fields

	connection commonv1.ConditionReason // that was told last
}

// Ahead reports whether our last write is newer than a version that was read. The
// answer to the write that lets an object go need not have a newer one.
func (r *record) ahead(version string) bool {
	if r.released != "" && r.released == version {
		return true
	}
	if r.version == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, r.version)

	return err == nil && order < 0
}
