package recipes

import (
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestAdoptable: a database is up to date if it has our stamp, or if the object has not adopted it yet.
func TestAdoptable(t *testing.T) {
	db, adopted := database("orders"), database("orders")
	meta.SetExternalCreateSucceeded(adopted, time.Unix(1, 0))
	stamp := stampOf(v1alpha1.DatabaseKind, db)
	for name, tc := range map[string]struct {
		stamp string
		db    *v1alpha1.Database
		want  bool
	}{
		"ours":                {string(stamp), db, true},
		"without a stamp":     {"", db, true},
		"adopted, no stamp":   {"", adopted, false},
		"adopted and stamped": {string(stamp), adopted, true},
		"of another owner":    {"another", db, false},
	} {
		if got := adoptable(Record{SizeGiB: 40, Stamp: tc.stamp}, tc.db, stamp).ResourceUpToDate; got != tc.want {
			t.Errorf("%s: up to date %t, want %t", name, got, tc.want)
		}
	}
}
