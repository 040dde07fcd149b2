package providerconfig

import (
	"context"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
)

// read returns a configuration and its record. It returns nil if the configuration does not exist. It reads from the
// cache, or from the API server if the cache was stale for several passes.
func (r *reconciler) read(ctx context.Context, name types.NamespacedName) (Config, *record, error) {
	config, err := r.get(ctx, r.client, name)
	if config == nil {
		return nil, nil, err
	}
	known := r.records.Of(name, config.GetUID())
	if !known.NeedsLiveRead() {
		return config, known, nil
	}
	config, err = r.get(ctx, r.apiReader, name)
	if config == nil {
		return nil, nil, err
	}
	if known = r.records.Of(name, config.GetUID()); known.IsStale(config.GetResourceVersion()) {
		r.logger.Info("The API server was restored to an older state: discarding the known version",
			"name", name.Name, "namespace", name.Namespace,
			"version", config.GetResourceVersion(), "known", known.Version)
		*known = record{}
	}

	return config, known, nil
}

// get returns a configuration, or nil if it does not exist.
func (r *reconciler) get(ctx context.Context, from client.Reader, name types.NamespacedName) (Config, error) {
	config, err := r.kind.newObject()
	if err != nil {
		return nil, err
	}
	if err := from.Get(ctx, name, config); err != nil {
		return nil, gone.Ignore(err, name.Name)
	}

	return config, nil
}

// ignoreReplaced returns nil for the error of a write if the configuration is gone or was replaced, because an event
// then causes the next reconcile. The response to the write does not prove this, so ignoreReplaced reads the
// configuration from the API server.
func (r *reconciler) ignoreReplaced(ctx context.Context, config Config, err error) error {
	if !kerrors.IsInvalid(err) && !gone.Answered(err, config.GetName()) {
		return err
	}
	if is, unknown := gone.Confirmed(ctx, r.apiReader, config); unknown == nil && is {
		return nil
	}

	return err
}
