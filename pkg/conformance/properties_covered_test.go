package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A drifter is a client with another identity for each connection.
type drifter struct {
	*diskClient

	connected *int
	at        int
}

func (d drifter) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	*d.connected++
	d.at = *d.connected

	return d, nil
}

func (d drifter) Identity() string { return fmt.Sprint("backend ", d.at) }

// TestAnIdentityThatDrifts: a client whose identity changes each time is found.
func TestAnIdentityThatDrifts(t *testing.T) {
	d := newDiskService(Named)
	k := examine(t, d.suite(drifter{diskClient: &diskClient{d}, connected: new(int)}))
	if !k.findings.has("backend-is-told") {
		t.Errorf("it is not found, but %v", k.findings.list)
	}
}

// reconcilersOwn are the properties that only a reconciler can break, not a client. The tests of package sim check them
// with broken reconcilers.
var reconcilersOwn = []string{
	"name-is-kept", "intent-comes-first", "orders-are-heeded", "one-leader", "ready-is-true", "one-change-a-pass",
	"never-stuck", "calm", otherProperties,
}

// TestEveryPropertyIsBroken: for every property there is a client, or a suite, that is
// found to break it.
func TestEveryPropertyIsBroken(t *testing.T) {
	broken := []string{"backend-is-told", "update-keeps-the-rest", "details-work", namesDifferences}
	for _, c := range defects {
		broken = append(broken, c.property)
	}
	for _, c := range misled {
		broken = append(broken, c.property)
	}
	for _, c := range badSuites {
		broken = append(broken, c.property)
	}
	for _, p := range properties {
		if own := slices.Contains(reconcilersOwn, p.name); own == slices.Contains(broken, p.name) {
			t.Errorf("%s: broken by a client %t, a reconciler's own %t", p.name, !own, own)
		}
	}
}
