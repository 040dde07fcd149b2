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
		honest := &extClient{w.system}
		c := managed.ExternalClientFns{ObserveFn: honest.Observe, CreateFn: honest.Create, UpdateFn: honest.Update,
			DeleteFn: honest.Delete}
		spoil(&c, w.system)

		return c, ctx.Err()
	})
}

// brokenClients has clients with defects of real clients. The files of the schedules say what each of them stands for.
var brokenClients = map[string]func(c *managed.ExternalClientFns, h *extSystem){
	// What is not in a list that was read page by page, while others were deleted, is
	// taken not to exist.
	"absence-from-list": func(c *managed.ExternalClientFns, h *extSystem) {
		observe := c.ObserveFn
		c.ObserveFn = func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			if p := h.find(meta.GetExternalName(mg)); p != nil && h.missedByList(p) {
				return managed.ExternalObservation{}, nil
			}

			return observe(ctx, mg)
		}
	},
	// An update replaces all metadata, and does not have the mark of the owner.
	"stamp-not-sent": func(c *managed.ExternalClientFns, h *extSystem) {
		update := c.UpdateFn
		c.UpdateFn = func(ctx context.Context, mg resource.Managed) error {
			if p := h.find(meta.GetExternalName(mg)); p != nil {
				p.Stamp = ""
			}

			return update(ctx, mg)
		}
	},
	// A late answer is reported as a refusal.
	"timeout-is-refusal": func(c *managed.ExternalClientFns, h *extSystem) {
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
	// A client without access gets the answer that nothing exists, as with a wrong
	// account.
	"unseen-is-gone": func(c *managed.ExternalClientFns, h *extSystem) {
		observe := c.ObserveFn
		c.ObserveFn = func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			if meta.WasDeleted(mg) {
				return managed.ExternalObservation{}, nil
			}

			return observe(ctx, mg)
		}
	},
	// The name that the system assigned is not returned.
	"name-not-told": func(c *managed.ExternalClientFns, _ *extSystem) {
		create := c.CreateFn
		c.CreateFn = func(ctx context.Context, mg resource.Managed) error {
			name := meta.GetExternalName(mg)
			err := create(ctx, mg)
			meta.SetExternalName(mg, name)

			return err
		}
	},
	// A value that the system rounds is compared with the requested one.
	"never-up-to-date": func(c *managed.ExternalClientFns, _ *extSystem) {
		observe := c.ObserveFn
		c.ObserveFn = func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			o, err := observe(ctx, mg)
			o.ResourceUpToDate = false

			return o, err
		}
	},
	// The status shows when it was last looked at.
	"status-with-clock": func(c *managed.ExternalClientFns, _ *extSystem) {
		observe := c.ObserveFn
		c.ObserveFn = func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			o, err := observe(ctx, mg)
			if b, berr := bucketOf(mg); berr == nil {
				b.Status.LastHandledReconcileAt = time.Now().String()
			}

			return o, err
		}
	},
	// What an earlier create made is deleted, and made once more.
	"create-replaces": func(c *managed.ExternalClientFns, h *extSystem) {
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
	"observe-creates": func(c *managed.ExternalClientFns, _ *extSystem) {
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

// A careless client replaces all annotations in each call, except for the name that it sets in a creation, and removes
// finalizers.
type careless struct{ managed.ExternalClient }

func (c careless) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	defer mg.SetAnnotations(map[string]string{"example.org/own": "1"})
	defer mg.SetFinalizers(nil)

	return c.ExternalClient.Observe(ctx, mg)
}

func (c careless) Create(ctx context.Context, mg resource.Managed) error {
	err := c.ExternalClient.Create(ctx, mg)
	mg.SetAnnotations(map[string]string{
		"example.org/own": "1", meta.AnnotationKeyExternalName: meta.GetExternalName(mg),
	})

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

// makeCareless makes the client of a world change annotations and finalizers.
func makeCareless(w *World) {
	honest := w.config.Connecter
	w.config.Connecter = managed.ExternalConnectorFn(
		func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
			c, err := honest.Connect(ctx, mg)
			if err != nil {
				return nil, err
			}

			return careless{c}, nil
		})
}

// missedByList returns whether a list misses a resource, because resources before it are being deleted between its
// pages.
func (h *extSystem) missedByList(p *extResource) bool {
	for _, other := range h.resources {
		if other == p {
			return false
		}
		if !other.deleted.IsZero() && time.Since(other.deleted) < 2*time.Minute {
			return true
		}
	}

	return false
}
