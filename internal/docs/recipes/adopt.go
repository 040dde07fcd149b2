package recipes

import (
	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// adoptable returns the observation of a database that may have existed before the object.
func adoptable(found Record, db *v1alpha1.Database, stamp managed.Stamp) managed.ExternalObservation {
	out := managed.ExternalObservation{
		ResourceExists: true, Owner: stamp.Owner(found.Stamp), OwnerStamp: managed.Stamp(found.Stamp),
		ResourceUpToDate: found.SizeGiB == db.Spec.SizeGiB,
	}
	adopted := out.Owner == managed.OwnerNone && !meta.GetExternalCreateSucceeded(db).IsZero()
	if adopted || out.Owner == managed.OwnerOther {
		out.ResourceUpToDate = false // Update writes our stamp, once the reconciler allows it
	}

	return out
}
