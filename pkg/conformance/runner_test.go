package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestWarning: a client that reports no owner gets one warning. A client that reports the owner gets none.
func TestWarning(t *testing.T) {
	for stamped, want := range map[bool]int{true: 0, false: 1} {
		d := newDiskService(Named)
		d.stamped = stamped
		s := d.suite(&diskClient{d})
		s.Within = time.Nanosecond
		k := examine(t, s)
		warnings := slices.DeleteFunc(k.notes, func(n string) bool { return !strings.HasPrefix(n, "warning: ") })
		if len(warnings) != want || len(k.findings.list) > 0 {
			t.Errorf("stamped %t: warnings %q, findings %v", stamped, warnings, k.findings.list)
		}
	}
}

// A concealing client shows a secret in its errors, and has passed it to external.Conceal.
type concealing struct{ *diskClient }

func (c concealing) Connect(ctx context.Context, _ resource.Managed) (managed.ExternalClient, error) {
	external.Conceal(ctx, []byte("hunter2"))

	return &wreck{diskClient: c.diskClient, observe: func(ctx context.Context, p *diskClient,
		v *volume.Volume) (managed.ExternalObservation, error) {
		if _, err := p.get(ctx, meta.GetExternalName(v)); err != nil && !errors.Is(err, errNoDisk) {
			return managed.ExternalObservation{}, errors.Wrap(errBroken, "cannot look")
		}

		return p.Observe(ctx, v)
	}}, nil
}

// TestConcealed: a secret that the client conceals is kept, as the reconciler keeps it.
func TestConcealed(t *testing.T) {
	d := newDiskService(Named)
	d.stamped = true
	s := d.suite(concealing{&diskClient{d}})
	s.Within = time.Nanosecond
	for _, f := range examine(t, s).findings.list {
		t.Error(f)
	}
}
