package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A telling client answers with the owners in lies, one after the other, and then that it is ours.
type telling struct {
	managed.ExternalClient

	lies *[]managed.Owner
}

func (c telling) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	seen, err := c.ExternalClient.Observe(ctx, mg)
	if seen.Owner = managed.OwnerOurs; seen.ResourceExists && len(*c.lies) > 0 {
		seen.Owner, *c.lies = (*c.lies)[0], (*c.lies)[1:]
	}

	return seen, err
}

// TestOneWrongOwnerLeavesNothing verifies that one observation of another owner does not release a deleted object:
// it is observed again over a new connection. A second one releases it with a warning.
func TestOneWrongOwnerLeavesNothing(t *testing.T) {
	const other, unowned, released = managed.OwnerOther, managed.OwnerNone, "Normal/ExternalResourceNotOwned"
	for name, tc := range map[string]struct {
		named     bool
		restarted bool
		lies      []managed.Owner
		left      bool
	}{
		"another's once":                            {lies: []managed.Owner{other}},
		"another's once, after a restart":           {restarted: true, lies: []managed.Owner{other}},
		"no known value once":                       {lies: []managed.Owner{77}},
		"another's twice":                           {lies: []managed.Owner{other, other}, left: true},
		"under a name of ours":                      {named: true, lies: []managed.Owner{other}},
		"under a name of ours, after a restart":     {named: true, restarted: true, lies: []managed.Owner{other}},
		"nobody's, under a name of ours":            {named: true, lies: []managed.Owner{unowned}},
		"nobody's twice, under a name of ours":      {named: true, lies: []managed.Owner{unowned, unowned}, left: true},
		"one and the other, under a name of ours":   {named: true, lies: []managed.Owner{unowned, other}, left: true},
		"another's twice, and after a restart, too": {restarted: true, lies: []managed.Owner{other, other}, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed.WithDeterministicExternalName(tc.named))
			w.cloud.Named = tc.named
			var lies []managed.Owner
			w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return telling{c, &lies} })
			w.create(nil)
			w.pass()
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			w.pass()
			w.delete()
			if w.taken(); tc.restarted {
				w.restart()
			}
			lies = tc.lies
			after := w.pass().RequeueAfter
			if w.gone() || after <= 0 || after > 6*time.Second {
				t.Fatalf("after one look: gone %t, the next one after %s", w.gone(), after)
			}
			if _, calls, events := w.taken(); calls != look || events != "" {
				t.Errorf("calls %q, events %q", calls, events)
			}
			w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
			w.pass()
			_, calls, events := w.taken()
			if !tc.left && (!strings.HasSuffix(calls, "Delete Observe") || !w.gone() || len(w.cloud.Disks()) > 0) {
				t.Errorf("calls %q, gone %t, disks %v, events %q", calls, w.gone(), w.cloud.Disks(), events)
			}
			if tc.left && (calls != look || events != "Warning/ExternalResourceLeft, "+released || !w.gone() ||
				len(w.cloud.Disks()) != 1) {
				t.Errorf("calls %q, gone %t, disks %v, events %q", calls, w.gone(), w.cloud.Disks(), events)
			}
		})
	}
}

// TestMarksThatShowLate verifies that a recent creation with a deterministic name may not have its mark yet.
func TestMarksThatShowLate(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	lies := []managed.Owner{managed.OwnerNone, managed.OwnerNone, managed.OwnerNone}
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return telling{c, &lies} })
	w.create(nil)
	w.pass()
	w.delete()
	for range 3 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(8 * time.Second))
	}
	if !w.gone() || len(w.cloud.Disks()) > 0 {
		t.Errorf("gone %t, disks %v", w.gone(), w.cloud.Disks())
	}
}

// TestWhatWasNeverOursIsNotDisputed verifies that a foreign resource under a user's name, or one that was created
// after our Delete, keeps no object.
func TestWhatWasNeverOursIsNotDisputed(t *testing.T) {
	for name, change := range map[string]func(w *world, lies *[]managed.Owner){
		"another name": func(w *world, _ *[]managed.Owner) {
			w.cloud.Put(volume.Disk{ID: "theirs", SizeGiB: 1})
			w.change(func(v *volume.Volume) { meta.SetExternalName(v, "theirs") })
			w.delete()
		},
		"a Delete was sent": func(w *world, lies *[]managed.Owner) {
			w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
				if call == "Delete" {
					w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 1})
				}

				return nil
			}
			w.delete()
			*lies = nil
			w.pass()
			w.taken()
			*lies = []managed.Owner{managed.OwnerOther}
		},
	} {
		w := newWorld(t)
		lies := []managed.Owner{managed.OwnerOurs}
		w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return telling{c, &lies} })
		w.create(nil)
		w.pass()
		w.taken()
		lies = []managed.Owner{managed.OwnerOther}
		change(w, &lies)
		w.pass()
		if _, _, events := w.taken(); !w.gone() || events != "Normal/ExternalResourceNotOwned" {
			t.Errorf("%s: gone %t, events %q", name, w.gone(), events)
		}
	}
}
