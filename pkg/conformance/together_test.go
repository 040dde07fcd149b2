package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An stickyConnecter is one process of a provider. If it is sticky, it serves all objects from the account of the
// first one.
type stickyConnecter struct {
	accounts map[string]*diskService // by object
	sticky   bool
	first    *diskService
}

func (c *stickyConnecter) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	if c.first == nil || !c.sticky {
		c.first = c.accounts[mg.GetName()]
	}

	return (&diskClient{c.first}).Connect(ctx, mg)
}

// An accountsProbe lists the disks of two accounts. It does not say in which account a disk is.
type accountsProbe struct{ a, b *diskService }

func (p accountsProbe) List(ctx context.Context) ([]Resource, error) {
	out, _ := p.a.List(ctx) // a diskService always lists
	more, err := p.b.List(ctx)

	return append(out, more...), err
}

func (p accountsProbe) Remove(ctx context.Context, id string) error {
	_ = p.a.Remove(ctx, id) // a diskService always removes

	return p.b.Remove(ctx, id)
}

// TestAProcessServesEachObject: a process that serves an object from the external system of another one is found by
// direct calls.
func TestAProcessServesEachObject(t *testing.T) {
	for name, sticky := range map[string]bool{"OfTheFirst": true, "OfItsOwn": false} {
		t.Run(name, func(t *testing.T) {
			a, b := newDiskService(Named), newDiskService(Named)
			a.stamped, b.stamped = true, true
			suite := a.suite(&diskClient{a})
			suite.NewConnecter = func() managed.ExternalConnecter {
				return &stickyConnecter{accounts: map[string]*diskService{"vol": a, "vol-2": b}, sticky: sticky}
			}
			suite.Class, suite.Probe, suite.Within = Named, accountsProbe{a, b}, time.Nanosecond
			k := examine(t, suite)
			found := k.findings.says("created-is-seen", "in a process that serves vol and vol-2, Create of vol-2 made its "+
				"resource, and Observe of another process says exists=false")
			if found != sticky || !sticky && len(k.findings.list) > 0 || sticky && k.schedulesRun > 0 {
				t.Errorf("after %d schedules the findings are %v", k.schedulesRun, k.findings.list)
			}
		})
	}
}

// TestADeletionLeavesOtherSamples: a Delete that also removes what has the name as a prefix is found by direct calls.
func TestADeletionLeavesOtherSamples(t *testing.T) {
	d := newDiskService(Named)
	d.stamped = true
	suite := d.suite(&wreck{diskClient: &diskClient{d}, remove: removesByPrefix})
	k := examine(t, suite)
	if !k.findings.says("strangers-are-left-alone", "removed vol-2, which was made for another object, vol-2") ||
		k.schedulesRun > 0 {
		t.Errorf("after %d schedules the findings are %v", k.schedulesRun, k.findings.list)
	}
}
