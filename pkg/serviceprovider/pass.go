package serviceprovider

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/passage"
)

// A pass looks at one object once.
type pass[T API, C Config] struct {
	r     *APIReconciler[T, C]
	req   ctrl.Request
	facts passage.Facts

	obj   T
	base  T // as its status was when the pass began
	known *record[C]

	config   C
	noConfig error // why there is none
	clusters ClusterContext
	data     []any // that the access provider gets
	expires  time.Time
	wait     time.Duration // that the access provider asked for
	why      error         // access is denied, or a cluster gone
	called   bool          // the domain was called, and says what the status is
	leaves   bool          // access is given back
	secrets  secrets
}

// read finds out what the object looks like.
func (p *pass[T, C]) read(ctx context.Context) error {
	p.obj = p.r.empty()
	err := p.r.reader().Get(ctx, p.req.NamespacedName, p.obj)
	if known, ok := p.r.memory.peek(p.req.NamespacedName); ok && err == nil && known.uid == p.obj.GetUID() && known.ahead(p.obj.GetResourceVersion()) {
		// The cache lags behind what we wrote ourselves.
		p.obj = p.r.empty()
		err = p.r.onboarding.Client().Get(ctx, p.req.NamespacedName, p.obj)
	}
	if gone.Answered(err, p.req.Name) {
		p.r.memory.forget(p.req.NamespacedName)

		return nil
	}
	if err != nil {
		return errors.Wrap(err, "cannot get the object")
	}
	var ok bool
	if p.base, ok = p.obj.DeepCopyObject().(T); !ok {
		return errors.Errorf("a copy of %T is of another type", p.obj)
	}
	p.known = p.r.memory.of(p.req.NamespacedName, p.obj.GetUID())
	p.facts = passage.Facts{
		Found: true, Leaving: !p.obj.GetDeletionTimestamp().IsZero(), Held: meta.FinalizerExists(p.obj, p.obj.Finalizer()),
		Paused: p.obj.GetAnnotations()[p.r.annotation] == OperationIgnore, Made: p.made(), Record: p.recorded(),
		DeletePaused: p.r.deletePaused, OrphanGone: p.r.onGone == DeletionOrphan,
		NoConfigOrphan: p.r.withoutConfig == DeletionOrphan, NoConfigDelete: p.r.withoutConfig == DeletionDelete,
	}
	if p.obj.GetAnnotations()[p.r.annotation] == OperationReconcile {
		return p.acknowledge(ctx)
	}

	return nil
}

// heldBefore reports whether our finalizer was on the object when the pass began.
func (p *pass[T, C]) heldBefore() bool { return meta.FinalizerExists(p.base, p.base.Finalizer()) }

// acknowledge takes the request off that has led here.
func (p *pass[T, C]) acknowledge(ctx context.Context) error {
	return p.patchMain(ctx, func(o T) error {
		meta.RemoveAnnotations(o, p.r.annotation)

		return nil
	}, "cannot take the request to reconcile off the object")
}

// patchMain changes the object, but not its status, and stores what differs. It must
// not be called after the domain has changed the status.
func (p *pass[T, C]) patchMain(ctx context.Context, change func(o T) error, failure string) error {
	before := p.copied()
	if err := change(p.obj); err != nil {
		return err
	}
	plain, err := client.MergeFrom(before).Data(p.obj)
	if err != nil || string(plain) == "{}" {
		return errors.Wrap(err, failure)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := p.r.onboarding.Client().Patch(ctx, p.obj, patch); err != nil {
		return errors.Wrap(err, failure)
	}
	p.known.version = p.obj.GetResourceVersion()

	return nil
}

// configure looks for the configuration. A deletion goes on with the one that was last
// used for the object, if there is none any more.
func (p *pass[T, C]) configure(ctx context.Context) {
	p.facts.ConfigAsked = true
	c, err := p.r.configs.ConfigFor(ctx, p.obj)
	if err == nil && isNil(c) {
		err = ErrConfigNotFound
	}
	switch {
	case err == nil:
		p.r.memory.use(p.known, c)
	case errors.Is(err, ErrConfigTerminating) && p.facts.Leaving && !isNil(c):
		err = nil
	case p.facts.Leaving && p.known.configured:
		c, err = p.known.config, nil
	}
	p.facts.ConfigFound = err == nil
	p.facts.ConfigUnknown = err != nil && !errors.Is(err, ErrConfigNotFound) && !errors.Is(err, ErrConfigTerminating)
	p.noConfig = err
	if err != nil {
		return
	}
	// The domain may do with it what it likes.
	p.config = c
	if own, ok := c.DeepCopyObject().(C); ok {
		p.config = own
	}
}

// hold puts our finalizer on the object.
func (p *pass[T, C]) hold(ctx context.Context) error {
	err := resource.NewAPIFinalizer(p.r.onboarding.Client(), p.obj.Finalizer()).AddFinalizer(ctx, p.obj)
	if err == nil {
		p.facts.Held, p.known.version = true, p.obj.GetResourceVersion()
	}

	return err
}

// fill lets the domain fill up the object, and stores that.
func (p *pass[T, C]) fill(ctx context.Context) error {
	d, ok := p.r.domain.(Defaulter[T])
	p.facts.Defaulted = true
	if !ok {
		return nil
	}

	return p.patchMain(ctx, func(o T) error { return d.Default(ctx, o) }, "cannot fill up the object")
}

// check looks whether the requests for access are there, are missing or are being deleted. A
// provider gives back the clusters after the access: while a cluster is given back whose
// AccessRequest is missing, and no other AccessRequest is there, that counts as one that is being
// deleted. Who does it, the service or somebody else, is not known from the requests, but from the
// status: see recorded.
func (p *pass[T, C]) check(ctx context.Context) error {
	if err := p.gather(ctx); err != nil {
		return err
	}
	found, withdrawn, kept := passage.Asked, false, false
	for _, id := range p.r.clusterIDs {
		request, err := p.r.access.AccessRequest(ctx, p.req, id, p.data...)
		switch {
		case gone.Named(err):
			found, withdrawn = max(found, passage.Missing), withdrawn || errors.Is(err, ErrAccessWithdrawn)
		case err != nil:
			return err
		case request != nil && !request.GetDeletionTimestamp().IsZero():
			found = passage.Leaving
		default:
			kept = true
		}
	}
	if withdrawn && !kept {
		found = passage.Leaving
	}
	p.facts.Request = found
	if found != passage.Missing || !p.facts.Made {
		return nil
	}

	return p.confirm(ctx)
}

// confirm asks the API server for an object that was read from a cache, which may show one
// that is gone: access that is asked for then is given back by nobody.
func (p *pass[T, C]) confirm(ctx context.Context) error {
	absent, err := gone.Confirmed(ctx, p.r.onboarding.Client(), p.obj)
	if absent {
		p.facts.Found = false
		p.r.memory.forget(p.req.NamespacedName)
	}

	return err
}

// gather finds out what the access provider should know of the object.
func (p *pass[T, C]) gather(ctx context.Context) error {
	data := make([]any, 0, len(p.r.generators))
	for _, generate := range p.r.generators {
		d, err := generate(ctx, p.obj)
		if err != nil {
			return errors.Wrap(err, "cannot tell what access depends on")
		}
		data = append(data, d)
	}
	p.data = data

	return nil
}

// ask asks for access to the clusters.
func (p *pass[T, C]) ask(ctx context.Context) error {
	p.facts.AccessAsked = true
	var result reconcile.Result
	err := p.gather(ctx)
	if err == nil {
		err = p.checkClusters(ctx)
	}
	if err == nil {
		result, err = p.r.access.Reconcile(ctx, p.req, p.data...)
	}
	if err == nil && result.RequeueAfter == 0 {
		err = p.open(ctx)
	}
	p.facts.Denied, p.facts.ClusterGone = errors.Is(err, ErrAccessDenied), errors.Is(err, ErrClusterGone)
	p.facts.NotOwned = p.facts.Leaving && errors.Is(err, ErrAccessNotOwned) // what is wanted fails, and is tried again
	p.wait, p.why = result.RequeueAfter, err
	if p.facts.Denied || p.facts.ClusterGone || p.facts.NotOwned {
		return nil
	}

	return err
}

// checkClusters looks whether a deletion of what was made would make clusters.
func (p *pass[T, C]) checkClusters(ctx context.Context) error {
	c, ok := p.r.access.(ClusterChecker)
	if !ok || !p.facts.Leaving || !p.facts.Made || !p.hasServiceCondition() {
		return nil
	}

	return c.CheckClusters(ctx, p.req, p.data...)
}

// open gets the connections to the clusters: with them there is access.
func (p *pass[T, C]) open(ctx context.Context) error {
	all, err := p.connections(ctx)
	if err != nil {
		return err
	}
	mcp, workload := all[ClusterMCP], all[ClusterWorkload]
	p.keep(all)
	p.clusters = ClusterContext{
		MCPCluster: mcp.Cluster, MCPAccessSecretKey: mcp.SecretKey,
		WorkloadCluster: workload.Cluster, WorkloadAccessSecretKey: workload.SecretKey, all: all,
	}
	for _, a := range all {
		if !a.Expires.IsZero() && (p.expires.IsZero() || a.Expires.Before(p.expires)) {
			p.expires = a.Expires
		}
	}
	p.facts.Granted = true

	return nil
}

// connections returns what is known of each cluster of the object, by its ID. All of them
// are connected, or there is an error.
func (p *pass[T, C]) connections(ctx context.Context) (map[string]Access, error) {
	all := map[string]Access{}
	for _, id := range p.r.clusterIDs {
		a, err := p.r.access.Access(ctx, p.req, id, p.data...)
		if err != nil {
			return nil, err
		}
		if a.Cluster == nil {
			return nil, errors.Errorf("%s access missing", missing(id))
		}
		all[id] = a
	}

	return all, nil
}

func missing(id string) string {
	if id == ClusterWorkload {
		return "workload cluster"
	}

	return id
}

// copied returns a copy of the object: its type is what read has made sure of.
func (p *pass[T, C]) copied() T {
	c, _ := p.obj.DeepCopyObject().(T)

	return c
}
