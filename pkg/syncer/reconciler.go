package syncer

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/passcontext"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// finalizerPrefix is the prefix of the finalizer that keeps a virtual object until its host object
// is gone. The finalizer is the prefix followed by the name of the syncer.
const finalizerPrefix = "syncer.moorage.dev/"

// A reconciler synchronizes the objects of one syncer.
type reconciler struct {
	reg       *synccontext.RegisterContext
	syncer    Syncer
	upSyncer  UpSyncer // nil if the syncer does not implement it
	starter   starter
	options   Options
	names     translate.Names
	kind      schema.GroupVersionKind
	finalizer string
	tracker   *tracker
	identity  *identityCheck // nil with ConfirmCached
	log       logging.Logger
}

// newReconciler returns the reconciler of a syncer. Unless ConfirmAbsence is ConfirmCached, it
// reads the identity of the virtual cluster, and returns an error if the cluster does not answer.
func newReconciler(reg *synccontext.RegisterContext, s Syncer, o Options) (*reconciler, error) {
	o, err := o.complete(reg, s.Name())
	if err != nil {
		return nil, err
	}
	kind, err := apiutil.GVKForObject(s.Resource(), reg.VirtualManager.GetScheme())
	if err != nil {
		return nil, errors.Wrap(err, "cannot determine the kind of the syncer's objects")
	}
	r := &reconciler{
		reg: reg, syncer: s, options: o, names: synccontext.NamesOf(reg), kind: kind,
		finalizer: finalizerPrefix + s.Name(),
		tracker:   newTracker(clock.RealClock{}),
		log:       logging.NewLogrLogger(reg.VirtualManager.GetLogger()).WithValues("syncer", s.Name()),
	}
	r.upSyncer, _ = As[UpSyncer](s)
	r.starter = starterOf(s)
	if o.ConfirmAbsence == ConfirmCached {
		return r, nil
	}
	if r.identity, err = newIdentityCheck(
		reg.Context, reg.VirtualManager.GetAPIReader(), types.UID(r.names.Cluster)); err != nil {
		return nil, err
	}
	return r, nil
}

// Reconcile runs one pass for a virtual name.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	values := &passcontext.Values{
		FieldOwner: r.options.FieldOwner, Replace: r.options.legacy, Unconditional: r.options.legacy,
	}
	sync := synccontext.ConvertContext(r.reg, req.Name)
	sync.Context = passcontext.With(ctx, values)
	sync.VirtualClient = recordingClient{Client: sync.VirtualClient, kind: r.kind, side: virtual, tracker: r.tracker}
	sync.PhysicalClient = recordingClient{
		Client: sync.PhysicalClient, kind: r.kind, side: physical, tracker: r.tracker, owner: newOwnerUpdater(r.reg),
	}
	p := &pass{r: r, ctx: sync.Context, sync: sync, values: values, req: req.NamespacedName}

	return r.starter.around(sync, req, func() (ctrl.Result, error) { return p.report(p.run()) })
}

// NewCallContext returns a context for calling a syncer without its controller. Package bridge uses
// it. Errors of the syncer are returned without events. Host objects are written with the
// FieldOwner of the syncer's options. If the syncer is not an OptionsProvider, the default
// FieldOwner is used.
func NewCallContext(
	ctx context.Context, reg *synccontext.RegisterContext, s Syncer, logName string,
) *synccontext.SyncContext {
	values := &passcontext.Values{}
	if p, ok := As[OptionsProvider](s); ok {
		values.FieldOwner = p.SyncerOptions().FieldOwner
	}
	sync := synccontext.ConvertContext(reg, logName)
	sync.Context = passcontext.With(ctx, values)
	return sync
}

// A starter runs before a pass and returns the function that runs after it: see
// StarterV2. Nil means none.
type starter func(ctx *synccontext.SyncContext, req ctrl.Request) (skip bool, end func(ctrl.Result, error), err error)

// starterOf returns the starter of a syncer that is a StarterV2 or a Starter, else nil.
func starterOf(s any) starter {
	if v2, ok := As[StarterV2](s); ok {
		return v2.ReconcileStart
	}
	v1, ok := As[Starter](s)
	if !ok {
		return nil
	}
	return func(ctx *synccontext.SyncContext, req ctrl.Request) (bool, func(ctrl.Result, error), error) {
		skip, err := v1.ReconcileStart(ctx, req)
		return skip, func(ctrl.Result, error) { v1.ReconcileEnd() }, err
	}
}

// around runs a pass between ReconcileStart and the end function.
func (s starter) around(
	ctx *synccontext.SyncContext, req ctrl.Request, run func() (ctrl.Result, error),
) (result ctrl.Result, err error) {
	if s == nil {
		return run()
	}
	skip, end, err := s(ctx, req)
	if end != nil {
		defer func() { end(result, err) }()
	}
	if skip || err != nil {
		return ctrl.Result{}, err
	}
	return run()
}
