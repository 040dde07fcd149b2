package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestAPathIsNoStamp: a field with the namespace, the name and the UID of the object is no managed.Stamp.
func TestAPathIsNoStamp(t *testing.T) {
	d := newDiskService(Named)
	suite := d.suite(&wreck{diskClient: &diskClient{d}, create: func(ctx context.Context, p *diskClient,
		v *volume.Volume) error {
		if err := p.Create(ctx, v); err != nil {
			return err
		}

		return p.change(ctx, func() {
			p.disks[meta.GetExternalName(v)].stamp = "/disks/" + v.Namespace + "/" + v.Name + "/" + string(v.UID)
		})
	}})
	suite.Within = time.Nanosecond
	if k := examine(t, suite); k.findings.has("owner-is-told") {
		t.Errorf("a path is taken for a stamp: %v", k.findings.list)
	}
}
