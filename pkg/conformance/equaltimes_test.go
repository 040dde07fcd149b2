package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// inUTC returns a time as a system shows it that stores times.
func inUTC(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}

	return at.UTC().Format(time.RFC3339)
}

// TestEqualTimes: a client that compares a time as text is found, although the suite has a mutation with one spelling
// only. A client that compares times, stores the text or refuses it is not.
func TestEqualTimes(t *testing.T) {
	asIs := func(text string) string { return text }
	for name, tc := range map[string]struct {
		reason          string
		stores, compare func(string) string
		refuses, found  bool
	}{
		"Texts":   {"Times are stored, and compared as texts.", inUTC, asIs, false, true},
		"Times":   {"Times are stored, and compared as times.", inUTC, inUTC, false, false},
		"Stored":  {"The text is stored.", asIs, asIs, false, false},
		"Refused": {"Only one spelling is accepted.", inUTC, asIs, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDiskService(Named)
			d.stamped = true
			suite := d.suite(&wreck{
				diskClient: &diskClient{d},
				observe: func(ctx context.Context, p *diskClient, v *volume.Volume) (managed.ExternalObservation, error) {
					o, err := p.Observe(ctx, v)
					if x, _ := p.get(ctx, meta.GetExternalName(v)); err == nil && x != nil {
						o.ResourceUpToDate = x.size == v.Spec.SizeGiB && tc.compare(x.tier) == tc.compare(v.Spec.Tier)
					}

					return o, err
				},
				update: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
					if tc.refuses && strings.Contains(v.Spec.Tier, "+") {
						return errors.New("write the time in UTC")
					}

					err := p.change(ctx, func() {
						x := p.disks[meta.GetExternalName(v)]
						x.size, x.tier = v.Spec.SizeGiB, tc.stores(v.Spec.Tier)
					})
					if err != nil {
						return errors.New("cannot update")
					}

					return nil
				},
			})
			const until = "2027-01-01T00:00:00Z"
			suite.Mutations = []Mutation{{
				Name:   "until",
				Change: func(v resource.Managed) { v.(*volume.Volume).Spec.Tier = until },
				Want:   map[string]string{"tier": until},
			}}
			suite.Within = time.Nanosecond
			k := examine(t, suite)
			found := k.findings.says("update-converges", "Observe of vol says that its resource is not up to date if tier is "+
				"2027-01-01T01:00:00+01:00, which is the same time as "+until)
			if found != tc.found || !tc.found && len(k.findings.list) > 0 {
				t.Errorf("%s The findings are %v", tc.reason, k.findings.list)
			}
		})
	}
}
