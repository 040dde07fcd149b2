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
	"github.com/moorage-dev/moorage/pkg/syncer/internal/pass"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// finalizerPrefix begins the finalizer that keeps a virtual object until its host
// object is gone; the syncer's name ends it.
const finalizerPrefix = "syncer.moorage.dev/"

// A reconciler keeps the objects of one syncer in step.
type reconciler struct {
	reg       *synccontext.RegisterContext
	syncer    Syncer
	up        UpSyncer // nil if the syncer is none
	starter   starter
	o         Options
	names     translate.Names
	kind      schema.GroupVersionKind
	finalizer string
	mem       *memory
	sentry    *sentry // nil if caches are believed
	log       logging.Logger
}

// newReconciler needs a virtual API server that answers, unless caches are believed.
func newReconciler(reg *synccontext.RegisterContext, s Syncer, o Options) (*reconciler, error) {
	o, err := o.complete(reg, s.Name())
	if err != nil {
		return nil, err
	}
	kind, err := apiutil.GVKForObject(s.Resource(), reg.VirtualManager.GetScheme())
	if err != nil {
		return nil, errors.Wrap(err, "cannot tell the kind of the syncer's objects")
	}
	r := &reconciler{
		reg: reg, syncer: s, o: o, names: synccontext.NamesOf(reg), kind: kind,
		finalizer: finalizerPrefix + s.Name(),
		mem:       newMemory(clock.RealClock{}),
		log:       logging.NewLogrLogger(reg.VirtualManager.GetLogger()).WithValues("syncer", s.Name()),
	}
	r.up, _ = As[UpSyncer](s)
	r.starter = starterOf(s)
	if o.ConfirmAbsence == ConfirmCached {
		return r, nil
	}
	if r.sentry, err = newSentry(reg.Context, reg.VirtualManager.GetAPIReader(), types.UID(r.names.Cluster)); err != nil {
		return nil, err
	}
	return r, nil
}

// Reconcile one virtual name.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	told := &pass.Pass{FieldOwner: r.o.FieldOwner, Replace: r.o.legacy, Unconditional: r.o.legacy}
	sync := synccontext.ConvertContext(r.reg, req.Name)
	sync.Context = pass.With(ctx, told)
	sync.VirtualClient = noting{Client: sync.VirtualClient, kind: r.kind, side: virtual, mem: r.mem}
	sync.PhysicalClient = noting{Client: sync.PhysicalClient, kind: r.kind, side: physical, mem: r.mem, own: renewingOf(r.reg)}
	p := &passage{r: r, ctx: sync.Context, sync: sync, told: told, req: req.NamespacedName}

	return r.starter.around(sync, req, func() (ctrl.Result, error) { return p.report(p.run()) })
}

// Outside returns the context for calls of a syncer outside of its controller, as
// pkg/bridge makes them. What fails is returned and told to nobody; host objects are
// written under the field owner of the syncer's options.
func Outside(ctx context.Context, reg *synccontext.RegisterContext, s Syncer, logName string) *synccontext.SyncContext {
	told := &pass.Pass{}
	if p, ok := As[OptionsProvider](s); ok {
		told.FieldOwner = p.SyncerOptions().FieldOwner
	}
	sync := synccontext.ConvertContext(reg, logName)
	sync.Context = pass.With(ctx, told)
	return sync
}

// A starter is called around a pass, see StarterV2. Nil is none.
type starter func(ctx *synccontext.SyncContext, req ctrl.Request) (skip bool, end func(ctrl.Result, error), err error)

// starterOf returns what of a syncer is called around a pass.
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

// around runs a pass between start and end.
func (s starter) around(ctx *synccontext.SyncContext, req ctrl.Request, run func() (ctrl.Result, error)) (result ctrl.Result, err error) {
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
