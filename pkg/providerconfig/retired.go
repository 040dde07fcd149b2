package providerconfig

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// WithRetiredFinalizers sets the names of finalizers that another runtime has added to configurations, such as
// "in-use.crossplane.io", and that no process removes any more. By default there are none. A retired finalizer is
// removed when the configuration has [FinalizerName].
//
// If the deletion of a configuration was requested before the configuration got [FinalizerName], the retired finalizer
// protects the configuration instead. The retired finalizer is then removed when the last user is gone.
func WithRetiredFinalizers(names ...string) Option {
	return func(o *options) { o.retired = append(o.retired, names...) }
}

// A retiredFinalizer is a finalizer that is removed and never added.
type retiredFinalizer struct {
	resource.Finalizer
	name string
}

// setRetiredFinalizers sets the retired finalizers by their names.
func (r *reconciler) setRetiredFinalizers(c client.Client, names []string) {
	for _, name := range names {
		r.retired = append(r.retired, retiredFinalizer{resource.NewAPIFinalizer(c, name), name})
	}
}

// hasRetiredFinalizer reports whether a configuration has a retired finalizer.
func (r *reconciler) hasRetiredFinalizer(config Config) bool {
	return slices.ContainsFunc(r.retired, func(f retiredFinalizer) bool { return meta.FinalizerExists(config, f.name) })
}

// removeRetiredFinalizers removes all retired finalizers of a configuration.
func (r *reconciler) removeRetiredFinalizers(ctx context.Context, config Config, known *record) error {
	if !r.hasRetiredFinalizer(config) {
		return nil
	}
	for _, f := range r.retired {
		if err := f.RemoveFinalizer(ctx, config); err != nil {
			return err
		}
	}
	known.Version = config.GetResourceVersion()

	return nil
}
