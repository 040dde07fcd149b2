package sim

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// replaced returns a connecter whose clients are broken.
func replaced(t *testing.T, w *World, name string) managed.ExternalConnecter {
	t.Helper()
	spoil, ok := brokenClients[name]
	if !ok {
		t.Fatalf("there is no broken client %q, but %v", name, slices.Sorted(maps.Keys(brokenClients)))
	}

	return managed.ExternalConnectorFn(func(ctx context.Context, _ resource.Managed) (managed.ExternalClient, error) {
		pilot := &pilot{w.harbour}
		c := managed.ExternalClientFns{ObserveFn: pilot.Observe, CreateFn: pilot.Create, UpdateFn: pilot.Update, DeleteFn: pilot.Delete}
		spoil(&c, w.harbour)

		return c, ctx.Err()
	})
}

// Clients that are broken in ways in which clients of real systems are, or were. Which
// of them stands for what is said where their schedules are.
var brokenClients = map[string]func(c *managed.ExternalClientFns, h *harbour){
	// What is not in a list that was read page by page, while others were deleted, is
	// taken not to exist.
	"absence-from-list": func(c *managed.ExternalClientFns, h *harbour) {
		observe := c.ObserveFn
		c.ObserveFn = func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			if p := h.at(meta.GetExternalName(mg)); p != nil && h.missedByList(p) {
				return managed.ExternalObservation{}, nil
			}

			return observe(ctx, mg)
		}
	},
	// An update replaces all metadata, and does not have the mark of the owner.
	"stamp-not-sent": func(c *managed.ExternalClientFns, h *harbour) {
		update := c.UpdateFn
		c.UpdateFn = func(ctx context.Context, mg resource.Managed) error {
			if p := h.at(meta.GetExternalName(mg)); p != nil {
				p.Stamp = ""
			}

			return update(ctx, mg)
		}
	},
	// An answer that comes too late is told as a refusal.
	"timeout-is-refusal": func(c *managed.ExternalClientFns, h *harbour) {
		create := c.CreateFn
		c.CreateFn = func(ctx context.Context, mg resource.Managed) error {
			late := h.created[mg.GetUID()] == 0
			if err := create(ctx, mg); err != nil || !late {
				return err
			}
			meta.SetExternalName(mg, "")

			return external.NotCreated(errors.New("no answer within a minute"))
		}
	},
	// Whoever may not see a resource is told that there is none, as from a wrong
	// account.
	"unseen-is-gone": func(c *managed.ExternalClientFns, h *harbour) {
		observe := c.ObserveFn
		c.ObserveFn = func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			if meta.WasDeleted(mg) {
				return managed.ExternalObservation{}, nil
			}

			return observe(ctx, mg)
		}
	},
	// The name that the system assigned is not told.
	"name-not-told": func(c *managed.ExternalClientFns, _ *harbour) {
		create := c.CreateFn
		c.CreateFn = func(ctx context.Context, mg resource.Managed) error {
			name := meta.GetExternalName(mg)
			err := create(ctx, mg)
			meta.SetExternalName(mg, name)

			return err
		}
	},
	// What the system rounds is compared as it was asked for.
	"never-up-to-date": func(c *managed.ExternalClientFns, _ *harbour) {
		observe := c.ObserveFn
		c.ObserveFn = func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			o, err := observe(ctx, mg)
			o.ResourceUpToDate = false

			return o, err
		}
	},
	// The status shows when it was last looked at.
	"status-with-clock": func(c *managed.ExternalClientFns, _ *harbour) {
		observe := c.ObserveFn
		c.ObserveFn = func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			o, err := observe(ctx, mg)
			if b, berr := berthOf(mg); berr == nil {
				b.Status.LastHandledReconcileAt = time.Now().String()
			}

			return o, err
		}
	},
	// What an earlier create made is deleted, and made once more.
	"create-replaces": func(c *managed.ExternalClientFns, h *harbour) {
		create := c.CreateFn
		c.CreateFn = func(ctx context.Context, mg resource.Managed) error {
			for _, p := range h.live(mg.GetUID()) {
				p.deleted = time.Now()
				h.deleted[mg.GetUID()]++
			}

			return create(ctx, mg)
		}
	},
	// What is found to be wanting is made at once, by what should only look.
	"observe-creates": func(c *managed.ExternalClientFns, _ *harbour) {
		observe := c.ObserveFn
		c.ObserveFn = func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			o, err := observe(ctx, mg)
			if err == nil && !o.ResourceExists && !meta.WasDeleted(mg) {
				return o, c.CreateFn(ctx, mg)
			}

			return o, err
		}
	},
}

// A careless client replaces all annotations by its own in each call, but for the name
// that it gives in a creation, and takes finalizers away.
type careless struct{ managed.ExternalClient }

func (c careless) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	defer mg.SetAnnotations(map[string]string{"example.org/own": "1"})
	defer mg.SetFinalizers(nil)

	return c.ExternalClient.Observe(ctx, mg)
}

func (c careless) Create(ctx context.Context, mg resource.Managed) error {
	err := c.ExternalClient.Create(ctx, mg)
	mg.SetAnnotations(map[string]string{"example.org/own": "1", meta.AnnotationKeyExternalName: meta.GetExternalName(mg)})

	return err
}

func (c careless) Update(ctx context.Context, mg resource.Managed) error {
	defer mg.SetAnnotations(nil)
	defer mg.SetFinalizers(nil)

	return c.ExternalClient.Update(ctx, mg)
}

func (c careless) Delete(ctx context.Context, mg resource.Managed) error {
	defer mg.SetAnnotations(nil)
	defer mg.SetFinalizers(nil)

	return c.ExternalClient.Delete(ctx, mg)
}

func (c careless) Unwrap() any { return c.ExternalClient }

// TestCarelessClient: what a client does with the annotations breaks nothing, whatever
// else goes wrong.
func TestCarelessClient(t *testing.T) {
	with := func(w *World) {
		honest := w.config.Connecter
		w.config.Connecter = managed.ExternalConnectorFn(func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
			c, err := honest.Connect(ctx, mg)
			if err != nil {
				return nil, err
			}

			return careless{c}, nil
		})
	}
	for _, scenario := range []string{"create", "update", "delete", "recover", "policy", "listed"} {
		for _, class := range Classes() {
			if !Has(scenario, class) {
				continue
			}
			t.Run(scenario+"/"+class, func(t *testing.T) {
				e := Explorer{
					Scenario: scenario, Class: class, Depth: 1, Short: scenario != "listed", // which is short in itself
					Run:   func(s Schedule) Result { return stageWith(t, s, with) },
					Found: func(r Result) { t.Errorf("%s: %v", r.Schedule, r.Violations) },
				}
				if e.Explore(); e.Ran < 20 {
					t.Errorf("%d schedules ran", e.Ran)
				}
			})
		}
	}
}

// missedByList says whether a list misses a place: while others that stand before it
// are being deleted, pages are not what they were.
func (h *harbour) missedByList(p *place) bool {
	for _, other := range h.places {
		if other == p {
			return false
		}
		if !other.deleted.IsZero() && time.Since(other.deleted) < 2*time.Minute {
			return true
		}
	}

	return false
}
