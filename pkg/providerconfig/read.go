package providerconfig

import (
	"context"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
)

// Patience is how many passes wait for the cache to catch up. Then the API server is asked.
const patience = 3

// read returns a configuration and what is known of it, or nil if it is gone. The cache
// answers, unless it has lagged behind for too long: then the API server does. A cache may
// never catch up, because an API server that was restored to an older state gives out
// versions that are lower than those that we know.
func (r *reconciler) read(ctx context.Context, name types.NamespacedName) (Config, *record, error) {
	config, err := r.get(ctx, r.client, name)
	if config == nil {
		return nil, nil, err
	}
	known := r.memory.Of(name, config.GetUID())
	if known.lag < patience {
		return config, known, nil
	}
	config, err = r.get(ctx, r.live, name)
	if config == nil {
		return nil, nil, err
	}
	if known = r.memory.Of(name, config.GetUID()); known.ahead(config.GetResourceVersion()) {
		r.logger.Info("The API server was restored to an older state: what it has now counts", "name", name.Name, "namespace", name.Namespace,
			"version", config.GetResourceVersion(), "known", known.version)
		*known = record{}
	}

	return config, known, nil
}

// get returns nil if there is no such configuration.
func (r *reconciler) get(ctx context.Context, from client.Reader, name types.NamespacedName) (Config, error) {
	config, err := r.kind.new()
	if err != nil {
		return nil, err
	}
	if err := from.Get(ctx, name, config); err != nil {
		return nil, gone.Ignore(err, name.Name)
	}

	return config, nil
}

// replaced returns nil for the error of a write to a configuration that is gone, or is
// another one by now: that makes an event of its own. The answer to a write does not prove
// it, so the API server is asked.
func (r *reconciler) replaced(ctx context.Context, config Config, err error) error {
	if !kerrors.IsInvalid(err) && !gone.Answered(err, config.GetName()) {
		return err
	}
	if is, unknown := gone.Confirmed(ctx, r.live, config); unknown == nil && is {
		return nil
	}

	return err
}
