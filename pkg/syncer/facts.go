package syncer

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// readObjects reads both objects from the caches. A missing object is nil.
func (p *pass) readObjects() error {
	var err error
	if p.vObj, err = getOrNil(p.ctx, p.sync.VirtualClient, p.r.syncer.Resource(), p.req); err != nil {
		return err
	}
	for _, host := range p.hostNames() {
		p.host = host
		if p.vObj == nil {
			p.r.tracker.removeWaiter(p.req, host)
		}
		p.pObj, err = getOrNil(p.ctx, p.sync.PhysicalClient, p.r.syncer.Resource(), host)
		if err != nil || p.pObj != nil {
			return err
		}
		if p.vObj == nil {
			p.r.tracker.removeHostName(p.req, host)
		}
	}
	return nil
}

// hostNames returns the names that the image can have on the host. If the virtual object does not
// exist and the translator needs it, the result is the host names that the tracker has recorded.
func (p *pass) hostNames() []types.NamespacedName {
	if host := p.r.syncer.VirtualToPhysical(p.req, p.vObj); host.Name != "" {
		return []types.NamespacedName{host}
	}
	if p.vObj != nil {
		return nil
	}
	return p.r.tracker.hostNames(p.req)
}

// getOrNil returns an untyped nil for an object that does not exist.
func getOrNil(
	ctx context.Context, c client.Reader, into client.Object, name types.NamespacedName,
) (client.Object, error) {
	err := c.Get(ctx, name, into)
	if gone.Answered(err, name.Name) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return into, nil
}

// facts returns the input of the next call of lifecycle.Decide.
func (p *pass) facts() (lifecycle.Facts, error) {
	f := lifecycle.Facts{
		Stale:           p.r.tracker.isStale(virtual, p.req, p.vObj) || p.r.tracker.isStale(physical, p.host, p.pObj),
		VirtualExists:   p.vObj != nil,
		HostExists:      p.pObj != nil,
		Confirmed:       p.confirmed || p.r.options.ConfirmAbsence == ConfirmCached,
		WantsSyncUp:     p.r.upSyncer != nil,
		DeleteHostFirst: p.r.options.HostDeletion == BeforeVirtual,
		RecreateDeleted: p.r.options.legacy,
		IgnoreConflicts: p.r.options.OnConflict == ConflictIgnore,
	}
	if f.VirtualExists {
		f.VirtualDeleted = p.vObj.GetDeletionTimestamp() != nil
		f.HasFinalizer = controllerutil.ContainsFinalizer(p.vObj, p.r.finalizer)
	}
	if !f.HostExists || f.Stale || !f.VirtualExists && f.WantsSyncUp { // an UpSyncer checks the ownership itself
		return f, nil
	}
	f.HostDeleted = p.pObj.GetDeletionTimestamp() != nil
	f.UIDMismatch = f.VirtualExists && p.uidMismatch()
	var err error
	p.foreignReason, err = p.r.foreignReason(p.req, p.pObj, p.vObj)
	f.Foreign = p.foreignReason != ""
	return f, err
}

// uidMismatch reports whether the host object is the image of a former object with this name in
// this virtual cluster. An image without a UID annotation, which earlier versions wrote, counts as
// the image of the current object.
func (p *pass) uidMismatch() bool {
	uid := p.pObj.GetAnnotations()[translator.UIDAnnotation]
	return p.r.options.UIDPolicy != UIDIgnore && uid != "" && uid != string(p.vObj.GetUID()) &&
		p.r.hasMarks(p.req, p.pObj) && !p.r.fromOtherCluster(p.req, p.pObj, p.vObj)
}

// hasMarks reports whether a host object has the ownership annotations of this virtual name and the
// label of this virtual cluster. It checks the label because objects of another virtual cluster can
// have the same annotations.
func (r *reconciler) hasMarks(v types.NamespacedName, pObj client.Object) bool {
	a := pObj.GetAnnotations()
	if a[translator.NameAnnotation] != v.Name || a[translator.NamespaceAnnotation] != v.Namespace {
		return false
	}
	return r.names.IsManaged(pObj) || r.names.IsManagedCluster(r.reg.TargetNamespace, pObj)
}

// foreignReason returns why a virtual name does not own a host object. It returns "" if the virtual
// name owns the host object, or if a conflict policy takes the host object over. A conflict policy
// never applies to a virtual object that is to be deleted.
func (r *reconciler) foreignReason(v types.NamespacedName, pObj, vObj client.Object) (string, error) {
	overwrite := r.options.OnConflict == ConflictOverwrite
	if vObj != nil && overwrite {
		return "", nil
	}
	adopt := vObj != nil && r.options.OnConflict == ConflictAdopt
	managed, err := r.syncer.IsManaged(pObj)
	switch {
	case err != nil:
		return "", err
	case !managed && !adopt:
		return "unmanaged physical object exists with desired name", nil
	case overwrite:
		return "", nil
	}
	of := v
	if managed {
		if of, err = VirtualName(r.syncer, pObj); err != nil {
			return "", err
		}
	}
	switch {
	case of.Name != "" && of != v:
		return fmt.Sprintf("physical object with desired name belongs to virtual object %s", of), nil
	case (!adopt || vObj.GetDeletionTimestamp() != nil) && r.fromOtherCluster(v, pObj, vObj):
		return "physical object with desired name belongs to another virtual cluster of the same name", nil
	default:
		return "", nil
	}
}

// VirtualName returns the virtual name of a host object for which IsManaged returns true. It
// returns an empty name if the host object has no virtual name, and an error if the lookup fails
// (see translator.NameLookup).
func VirtualName(s translator.NameTranslator, pObj client.Object) (types.NamespacedName, error) {
	if l, ok := As[translator.NameLookup](s); ok {
		return l.LookupVirtual(pObj)
	}
	of := s.PhysicalToVirtual(pObj)
	if of.Name != "" {
		return of, nil
	}
	// An empty name means that there is none or that the lookup failed. IsManaged does
	// the same lookup: it returns the error, or the lookup succeeds when repeated.
	if _, err := s.IsManaged(pObj); err != nil {
		return of, err
	}
	return s.PhysicalToVirtual(pObj), nil
}

// fromOtherCluster reports whether a host object is the image of an object in another virtual
// cluster. That cluster has the same name as this one, or answered at the same address. If the
// image has the UID of vObj, the UID of the cluster is ignored.
func (r *reconciler) fromOtherCluster(v types.NamespacedName, pObj, vObj client.Object) bool {
	a := pObj.GetAnnotations()
	cluster := a[translator.ClusterAnnotation]
	if r.names.Cluster == "" || cluster == "" || cluster == r.names.Cluster || !r.hasMarks(v, pObj) {
		return false
	}
	return vObj == nil || a[translator.UIDAnnotation] != string(vObj.GetUID())
}
