package stories

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// RequestBudgetDeletionGuard checks that one part of the deletion guard costs one read of one resource before each
// Delete. These reads are counted separately. The requests for the object are those without a guard. The resource of
// the other part is not read.
func RequestBudgetDeletionGuard(t *testing.T, at Place, guard managed.ReconcilerOption, resource string) {
	t.Helper()
	p := start(t, at, &volume.Cloud{}, guard)
	p.create()
	p.budget("create to ready guarded", 3, 1)
	p.settled(5)
	p.budget("steady guarded", 0, 0)

	p.each(func(v *volume.Volume) {
		if err := p.API.Delete(p.Context(), v); err != nil {
			t.Fatal(err)
		}
	})
	p.all("deleted", func(v *volume.Volume) bool { return v == nil })
	p.quiet()
	reads := 0
	for _, r := range p.Ledger.Objects() {
		if r.Verb == "GET" && r.Resource == resource {
			reads++
		}
	}
	Figure("reads of "+resource+" per delete", float64(reads)/objects)
	if reads != objects {
		t.Errorf("%d reads of %s, want %d", reads, resource, objects)
	}
	p.guards = resource
	p.spend("delete guarded", 2, 1)
	if disks := p.Cloud.Disks(); len(disks) != 0 {
		t.Errorf("left behind: %v", disks)
	}
}
