package peers

import (
	"context"
	"maps"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Crossplane is the protocol of crossplane-runtime as of August 2026, with its option
// for deterministic external names where names are of our choice. It stores annotations
// as it has them, reads the cache after a conflict, and goes on after any error but a
// cancelled context.
var Crossplane = &Protocol{
	name:         "crossplane-runtime",
	storesName:   true,
	repeatsNamed: true,
	store: func(ctx context.Context, c client.Client, mg resource.Managed, last error) error {
		if kerrors.IsConflict(last) {
			if err := refresh(ctx, c, mg); err != nil {
				return err
			}
		}

		return c.Update(ctx, mg)
	},
	again:         func(err error) bool { return !errors.Is(err, context.Canceled) },
	marksConflict: true,
	deaf: map[string]bool{meta.AnnotationKeyExternalCreatePending: true,
		meta.AnnotationKeyExternalCreateFailed: true},
}

// Krateo is the protocol of krateo's provider-runtime as of April 2026. It reads the
// cache before each try to store annotations, and goes on only after errors of the API
// server.
var Krateo = &Protocol{
	name: "provider-runtime",
	store: func(ctx context.Context, c client.Client, mg resource.Managed, _ error) error {
		if err := refresh(ctx, c, mg); err != nil {
			return err
		}

		return c.Update(ctx, mg)
	},
	again: func(err error) bool { return kerrors.ReasonForError(err) != "" },
}

// Refresh reads the object anew, which is from the cache, and puts the annotations it
// had on it.
func refresh(ctx context.Context, c client.Client, mg resource.Managed) error {
	have := maps.Clone(mg.GetAnnotations())
	if err := c.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
		return err
	}
	meta.AddAnnotations(mg, have)

	return nil
}

// Watches returns which changes of an object make a pass: those of the generation,
// the labels and the annotations but a few.
func (p *Protocol) Watches() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			!maps.Equal(p.hears(e.ObjectOld), p.hears(e.ObjectNew))
	}}
}

func (p *Protocol) hears(o client.Object) map[string]string {
	out := maps.Clone(o.GetAnnotations())
	maps.DeleteFunc(out, func(key, _ string) bool { return p.deaf[key] })

	return out
}
