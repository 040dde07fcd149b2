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
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/lifecycle"
)

// pass is one reconcile of one object.
type pass[T API, C Config] struct {
	r     *APIReconciler[T, C]
	req   ctrl.Request
	facts lifecycle.Facts

	obj   T
	base  T // a copy as it was read
	state *objectState[C]

	config             C
	configErr          error // why there is no configuration
	clusters           ClusterContext
	accessData         []any // additional data for the access provider
	credentialsExpire  time.Time
	accessRequeueAfter time.Duration // requested by the access provider
	accessErr          error         // why there is no access
	domainCalled       bool          // the domain was called and has set Ready
	releasingAccess    bool          // access is being released
	secrets            secrets
}

// read reads the object and sets the facts that it shows.
func (p *pass[T, C]) read(ctx context.Context) error {
	p.obj = p.r.newObject()
	err := p.r.reader().Get(ctx, p.req.NamespacedName, p.obj)
	if known := p.r.states.Peek(p.req.NamespacedName, p.obj.GetUID()); err == nil && known != nil &&
		known.isStale(p.obj.GetResourceVersion()) {
		// The cache does not contain our own last write yet.
		p.obj = p.r.newObject()
		err = p.r.onboarding.Client().Get(ctx, p.req.NamespacedName, p.obj)
	}
	if gone.Answered(err, p.req.Name) {
		p.r.states.Forget(p.req.NamespacedName)

		return nil
	}
	if err != nil {
		return errors.Wrap(err, "cannot get the object")
	}
	var ok bool
	if p.base, ok = p.obj.DeepCopyObject().(T); !ok {
		return errors.Errorf("a copy of %T is of another type", p.obj)
	}
	p.state = p.r.states.Of(p.req.NamespacedName, p.obj.GetUID())
	p.facts = lifecycle.Facts{
		Exists: true, Deleted: !p.obj.GetDeletionTimestamp().IsZero(),
		HasFinalizer: meta.FinalizerExists(p.obj, p.obj.Finalizer()),
		Paused:       p.obj.GetAnnotations()[p.r.annotation] == OperationIgnore,
		MaybeCreated: p.maybeCreated(), CreationRecorded: p.creationRecorded(),
		DeleteWhenPaused: p.r.deletion.whenPaused, OrphanOnClusterGone: p.r.deletion.onClusterGone == DeletionOrphan,
		OrphanWithoutConfig: p.r.deletion.withoutConfig == DeletionOrphan,
		DeleteWithoutConfig: p.r.deletion.withoutConfig == DeletionDelete,
	}
	if p.obj.GetAnnotations()[p.r.annotation] == OperationReconcile {
		return p.removeOperation(ctx)
	}

	return nil
}

// hadFinalizer reports whether the object had our finalizer when it was read.
func (p *pass[T, C]) hadFinalizer() bool { return meta.FinalizerExists(p.base, p.base.Finalizer()) }

// removeOperation removes the annotation that requested this reconcile.
func (p *pass[T, C]) removeOperation(ctx context.Context) error {
	return p.patchObject(ctx, func(o T) error {
		meta.RemoveAnnotations(o, p.r.annotation)

		return nil
	}, "cannot remove the annotation that requested a reconcile")
}

// patchObject applies a change to the object without its status, and patches the changed fields. Do not call it after
// the Reconciler has changed the status, because the response replaces the object in memory.
func (p *pass[T, C]) patchObject(ctx context.Context, change func(o T) error, failure string) error {
	before := p.copyObject()
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
	p.state.writtenVersion = p.obj.GetResourceVersion()

	return nil
}

// readConfig reads the configuration. If the configuration does not exist any more, a deletion uses the configuration
// that was last used for the object.
func (p *pass[T, C]) readConfig(ctx context.Context) {
	p.facts.ConfigRead = true
	c, err := p.r.configs.ConfigFor(ctx, p.obj)
	if err == nil && isNil(c) {
		err = ErrConfigNotFound
	}
	switch {
	case err == nil:
		p.state.setLastConfig(c)
	case errors.Is(err, ErrConfigTerminating) && p.facts.Deleted && !isNil(c):
		err = nil
	case p.facts.Deleted && p.state.hasConfig:
		c, err = p.state.config, nil
	}
	p.facts.ConfigFound = err == nil
	p.facts.ConfigUnknown = err != nil && !errors.Is(err, ErrConfigNotFound) && !errors.Is(err, ErrConfigTerminating)
	p.configErr = err
	if err != nil {
		return
	}
	// The Reconciler gets a copy, because it may change the configuration.
	p.config = c
	if own, ok := c.DeepCopyObject().(C); ok {
		p.config = own
	}
}

// addFinalizer adds our finalizer to the object.
func (p *pass[T, C]) addFinalizer(ctx context.Context) error {
	err := resource.NewAPIFinalizer(p.r.onboarding.Client(), p.obj.Finalizer()).AddFinalizer(ctx, p.obj)
	if err == nil {
		p.facts.HasFinalizer, p.state.writtenVersion = true, p.obj.GetResourceVersion()
	}

	return err
}

// applyDefaults lets the Reconciler set defaults, and stores them.
func (p *pass[T, C]) applyDefaults(ctx context.Context) error {
	d, ok := p.r.domain.(Defaulter[T])
	p.facts.Defaulted = true
	if !ok {
		return nil
	}

	return p.patchObject(ctx, func(o T) error { return d.Default(ctx, o) }, "cannot store the defaults")
}

// checkRequests reads the state of the AccessRequests. Providers release access before clusters. If an AccessRequest is
// missing, its cluster is being released and no other AccessRequest exists, the state is therefore RequestDeleting. The
// AccessRequests do not show whether this runtime or a third party deletes them. The status shows it: see
// creationRecorded.
func (p *pass[T, C]) checkRequests(ctx context.Context) error {
	if err := p.generateData(ctx); err != nil {
		return err
	}
	state, withdrawn, kept := lifecycle.RequestsPresent, false, false
	for _, id := range p.r.clusterIDs {
		request, err := p.r.access.AccessRequest(ctx, p.req, id, p.accessData...)
		switch {
		case gone.Named(err):
			state, withdrawn = max(state, lifecycle.RequestMissing), withdrawn || errors.Is(err, ErrAccessWithdrawn)
		case err != nil:
			return err
		case request != nil && !request.GetDeletionTimestamp().IsZero():
			state = lifecycle.RequestDeleting
		default:
			kept = true
		}
	}
	if withdrawn && !kept {
		state = lifecycle.RequestDeleting
	}
	p.facts.Requests = state
	if state == lifecycle.RequestsPresent || !p.facts.MaybeCreated {
		return nil
	}

	return p.confirmExists(ctx)
}

// confirmExists reads the object from the API server, because the cache may still contain a deleted object. Access that
// is requested for a deleted object would never be released.
func (p *pass[T, C]) confirmExists(ctx context.Context) error {
	absent, err := gone.Confirmed(ctx, p.r.onboarding.Client(), p.obj)
	if absent {
		p.facts.Exists = false
		p.r.states.Forget(p.req.NamespacedName)
	}

	return err
}

// generateData computes the additional data for the access provider.
func (p *pass[T, C]) generateData(ctx context.Context) error {
	data := make([]any, 0, len(p.r.generators))
	for _, generate := range p.r.generators {
		d, err := generate(ctx, p.obj)
		if err != nil {
			return errors.Wrap(err, "cannot generate additional data")
		}
		data = append(data, d)
	}
	p.accessData = data

	return nil
}

// reconcileAccess requests access to the clusters and connects to them.
func (p *pass[T, C]) reconcileAccess(ctx context.Context) error {
	p.facts.AccessRequested = true
	var result reconcile.Result
	err := p.generateData(ctx)
	if err == nil {
		err = p.checkClusters(ctx)
	}
	if err == nil {
		result, err = p.r.access.Reconcile(ctx, p.req, p.accessData...)
	}
	if err == nil && result.RequeueAfter == 0 {
		err = p.connect(ctx)
	}
	p.facts.Denied, p.facts.ClusterGone = errors.Is(err, ErrAccessDenied), errors.Is(err, ErrClusterGone)
	// for a wanted object it is an error, and is retried
	p.facts.NotOwned = p.facts.Deleted && errors.Is(err, ErrAccessNotOwned)
	p.accessRequeueAfter, p.accessErr = result.RequeueAfter, err
	if p.facts.Denied || p.facts.ClusterGone || p.facts.NotOwned {
		return nil
	}

	return err
}

// checkClusters returns an error if a request for access would create a new cluster, although the service is in a
// cluster that does not exist any more.
func (p *pass[T, C]) checkClusters(ctx context.Context) error {
	c, ok := p.r.access.(ClusterChecker)
	if !ok || !p.facts.Deleted || !p.facts.MaybeCreated || !p.hasServiceCondition() {
		return nil
	}

	return c.CheckClusters(ctx, p.req, p.accessData...)
}

// connect gets the connections to the clusters and sets the fact Granted.
func (p *pass[T, C]) connect(ctx context.Context) error {
	all, err := p.connections(ctx)
	if err != nil {
		return err
	}
	mcp, workload := all[ClusterMCP], all[ClusterWorkload]
	p.keepConnections(all)
	p.clusters = ClusterContext{
		MCPCluster: mcp.Cluster, MCPAccessSecretKey: mcp.SecretKey,
		WorkloadCluster: workload.Cluster, WorkloadAccessSecretKey: workload.SecretKey, all: all,
	}
	for _, a := range all {
		if !a.Expires.IsZero() && (p.credentialsExpire.IsZero() || a.Expires.Before(p.credentialsExpire)) {
			p.credentialsExpire = a.Expires
		}
	}
	p.facts.Granted = true

	return nil
}

// connections returns the access to each cluster of the object by cluster ID. If a cluster is not connected, it returns
// an error.
func (p *pass[T, C]) connections(ctx context.Context) (map[string]Access, error) {
	all := map[string]Access{}
	for _, id := range p.r.clusterIDs {
		a, err := p.r.access.Access(ctx, p.req, id, p.accessData...)
		if err != nil {
			return nil, err
		}
		if a.Cluster == nil {
			return nil, errors.Errorf("%s access missing", clusterName(id))
		}
		all[id] = a
	}

	return all, nil
}

// clusterName returns the name of a cluster for error messages.
func clusterName(id string) string {
	if id == ClusterWorkload {
		return "workload cluster"
	}

	return id
}

// copyObject returns a deep copy of the object. read has checked its type.
func (p *pass[T, C]) copyObject() T {
	c, _ := p.obj.DeepCopyObject().(T)

	return c
}
