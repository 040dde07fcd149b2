package syncer

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// RegisterSyncer adds a controller for the syncer to the virtual manager. If the syncer is an OptionsProvider, the
// options of the syncer are used; otherwise the default options are used. Both managers must have been started. The
// error wraps translate.ErrKindNotServed if one of the clusters does not serve the kind.
func RegisterSyncer(ctx *synccontext.RegisterContext, syncer Syncer) error {
	var o Options
	if p, ok := As[OptionsProvider](syncer); ok {
		o = p.SyncerOptions()
	}
	return RegisterSyncerWithOptions(ctx, syncer, o)
}

// RegisterSyncerWithOptions is RegisterSyncer with the given options. It ignores the options of an
// OptionsProvider.
func RegisterSyncerWithOptions(ctx *synccontext.RegisterContext, syncer Syncer, o Options) error {
	if err := checkServed(ctx, syncer); err != nil {
		return err
	}
	r, err := newReconciler(ctx, syncer, o)
	if err != nil {
		return errors.Wrapf(err, "cannot register syncer %q", syncer.Name())
	}
	b := ctrl.NewControllerManagedBy(ctx.VirtualManager).
		Named(syncer.Name()).
		WithOptions(controllerOptions(r.options.MaxConcurrentReconciles)).
		For(syncer.Resource(), builder.WithPredicates(virtualPredicate(r.tracker)))
	for _, s := range newHostWatch(r).sources() {
		b = b.WatchesRawSource(s)
	}
	return completeController(ctx, b, syncer, r)
}

// RegisterFakeSyncer adds a controller with one worker for the fake syncer to the virtual manager.
// Both managers must have been started. The error wraps translate.ErrKindNotServed if the virtual
// cluster does not serve the kind.
func RegisterFakeSyncer(ctx *synccontext.RegisterContext, syncer FakeSyncer) error {
	if err := checkServed(ctx, syncer); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(ctx.VirtualManager).Named(syncer.Name()).WithOptions(
		controllerOptions(1)).For(syncer.Resource())
	return completeController(ctx, b, syncer, fakeReconciler(ctx, syncer))
}

// fakeReconciler returns the reconciler of a fake syncer.
func fakeReconciler(ctx *synccontext.RegisterContext, syncer FakeSyncer) reconcile.Func {
	starter := starterOf(syncer)
	return func(c context.Context, req ctrl.Request) (ctrl.Result, error) {
		sync := synccontext.ConvertContext(ctx, req.Name)
		sync.Context = c
		return starter.around(sync, req, func() (ctrl.Result, error) {
			vObj, err := getOrNil(c, sync.VirtualClient, syncer.Resource(), req.NamespacedName)
			switch {
			case err != nil:
				return ctrl.Result{}, err
			case vObj == nil:
				return syncer.FakeSyncUp(sync, req.NamespacedName)
			default:
				return syncer.FakeSync(sync, vObj)
			}
		})
	}
}

// completeController applies a ControllerModifier and adds the controller to its manager.
func completeController(ctx *synccontext.RegisterContext, b *builder.Builder, s Base, r reconcile.Reconciler) error {
	if m, ok := As[ControllerModifier](s); ok {
		var err error
		if b, err = m.ModifyController(ctx, b); err != nil {
			return errors.Wrapf(err, "cannot modify the controller of %q", s.Name())
		}
	}
	return errors.Wrapf(b.Complete(r), "cannot start the controller of %q", s.Name())
}

// controllerOptions returns the options of a controller with n workers and the rate limits of
// package ratelimiter.
func controllerOptions(n int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: n,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			ratelimiter.BackOffBase, ratelimiter.BackOffMax),
	}
}

// checkServed returns an error if a cluster does not serve the kind of an item. The error names the
// cluster.
func checkServed(ctx *synccontext.RegisterContext, item Base) error {
	if s, ok := As[FakeSyncer](item); ok {
		if err := checkKindServed(s.Resource(), map[string]manager.Manager{"virtual": ctx.VirtualManager}); err != nil {
			return errors.Wrapf(err, "cannot register fake syncer %q", item.Name())
		}
	}
	if s, ok := As[Syncer](item); ok {
		err := checkKindServed(s.Resource(), map[string]manager.Manager{
			"virtual": ctx.VirtualManager, "physical": ctx.PhysicalManager,
		})
		return errors.Wrapf(err, "cannot register syncer %q", item.Name())
	}
	return nil
}

// checkKindServed returns an error if a cluster does not serve the kind. The error names the
// cluster. Without this check the controller would wait for its cache without a message and then
// stop its manager.
func checkKindServed(obj client.Object, in map[string]manager.Manager) error {
	for side, m := range in {
		kind, err := apiutil.GVKForObject(obj, m.GetScheme())
		if err != nil {
			return errors.Wrap(err, "cannot determine the kind of its objects")
		}
		_, err = m.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if gone.Unserved(err) {
			return errors.Wrapf(translate.ErrKindNotServed, "%s in the %s cluster", kind, side)
		}
		if err != nil {
			return errors.Wrapf(err, "cannot discover %s in the %s cluster", kind.Kind, side)
		}
	}
	return nil
}
