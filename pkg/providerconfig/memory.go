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

	lag    int       // passes in a row that could do nothing, because the cache lagged behind
	lagged time.Time // the last of them
}

// ahead reports whether our last write is newer than a version that was read. The
// answer to the write that lets an object go need not have a newer one.
func (r *record) ahead(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, r.version) // an error before our first write

	return err == nil && order < 0 || r.released != "" && r.released == version
}

// lags notes a pass that could do nothing: what the cache shows is older than our last
// write, or a write of it conflicts. Passes within a second of each other are one, so that
// users that come and go by the hundred do not have the API server asked while the cache
// takes its time.
func (r *record) lags(now time.Time) {
	if since := now.Sub(r.lagged); r.lag > 0 && since >= 0 && since < again {
		return
	}
	r.lag, r.lagged = r.lag+1, now
}
