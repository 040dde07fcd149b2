package systemtest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestW2PlatformOutage: while the platform, and with it the configuration and all requests,
// cannot be read, the service goes on with what it knows, and says nothing else of its
// objects. When the platform is back, so is everything.
func TestW2PlatformOutage(t *testing.T) {
	e := newEstate(t, "outage")
	e.grant()
	e.start()
	g := e.ready("g")
	e.grows(g, "roses")
	before := g.DeepCopyObject()
	if err := platform.Kill(); err != nil {
		t.Fatal(err)
	}
	back := false
	restart := func(ctx context.Context) error {
		if back {
			return nil
		}
		back = true

		return platform.Restart(ctx)
	}
	t.Cleanup(func() { // also if this test fails: others need it
		if err := restart(context.Background()); err != nil {
			t.Error(errors.Join(errors.New("the platform does not come back"), err))
		}
	})
	e.passes(20)
	if gone(t, onboarding.api, g) {
		t.Fatal("the object is gone")
	}
	if diff := cmp.Diff(before, g.DeepCopyObject()); diff != "" {
		t.Errorf("the object has changed: -before +after:\n%s", diff)
	}
	if err := restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	merge(t, platform.api, e.config, `{"plant":"tulips"}`)
	e.grows(g, "tulips")
	e.delete(onboarding.api, g)
	e.vanishes(g)
}
