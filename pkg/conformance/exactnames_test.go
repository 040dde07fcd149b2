package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// foldsNames finds a disk by its name without the case.
func foldsNames(ctx context.Context, p *diskClient, v *volume.Volume) (managed.ExternalObservation, error) {
	folded := v.DeepCopyObject().(*volume.Volume) // a copy has the type of its original
	p.mu.Lock()
	for id := range p.disks {
		if strings.EqualFold(id, meta.GetExternalName(v)) {
			meta.SetExternalName(folded, id)
		}
	}
	p.mu.Unlock()
	o, err := p.Observe(ctx, folded)
	v.Status = folded.Status

	return o, err
}

// A foldingProbe is the probe of a system that has names without their case.
type foldingProbe struct{ *diskService }

func (p foldingProbe) List(ctx context.Context) ([]Resource, error) {
	all, err := p.diskService.List(ctx)
	for i := range all {
		all[i].ID = strings.ToLower(all[i].ID)
	}
	if len(all) > 1 && all[0].ID == all[1].ID {
		all = all[:1]
	}

	return all, err
}

// TestNamesAreExact: a client that compares names without their case is found, unless the external system does so, too.
func TestNamesAreExact(t *testing.T) {
	d := newDiskService(Named)
	d.stamped = true
	suite := d.suite(&wreck{diskClient: &diskClient{d}, observe: foldsNames})
	k := examine(t, suite)
	if !k.findings.says("absent-is-no-error", `only "VOL" exists, and Observe of vol says that its resource "vol" does`) {
		t.Errorf("it is not found, but %v", k.findings.list)
	}
	suite.Probe = foldingProbe{d}
	if k := examine(t, suite); k.findings.has("absent-is-no-error") {
		t.Errorf("a system without case is blamed on the client: %v", k.findings.list)
	}
}

// A loggingProbe logs what it makes and removes.
type loggingProbe struct {
	*diskService
	log *[]string
}

func (p loggingProbe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	*p.log = append(*p.log, "made "+meta.GetExternalName(mg))

	return p.diskService.Make(ctx, mg)
}

func (p loggingProbe) Remove(ctx context.Context, id string) error {
	*p.log = append(*p.log, "removed "+id)

	return p.diskService.Remove(ctx, id)
}

// TestTheNameOfTheObjectIsLeftAlone: a system that shows what was removed, or does not give a name twice, is not blamed
// on the client: before its first Create nothing is made or removed under the name of the object.
func TestTheNameOfTheObjectIsLeftAlone(t *testing.T) {
	d := newDiskService(Named)
	d.stamped = true
	var log []string
	suite := d.suite(&wreck{diskClient: &diskClient{d}, create: func(ctx context.Context, p *diskClient,
		v *volume.Volume) error {
		log = append(log, "created "+meta.GetExternalName(v))

		return p.Create(ctx, v)
	}})
	suite.Probe, suite.Within = loggingProbe{d, &log}, time.Nanosecond
	if k := examine(t, suite); len(k.findings.list) > 0 {
		t.Errorf("a correct client: %v", k.findings.list)
	}
	before := log[:slices.Index(log, "created vol")]
	if slices.Contains(before, "made vol") || slices.Contains(before, "removed vol") ||
		!slices.Contains(before, "made VOL") {
		t.Errorf("before the first Create: %v", before)
	}
}
