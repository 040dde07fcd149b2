package syncer

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/dispatch"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// find reads both objects from the caches. What does not exist is nil.
func (p *passage) find() error {
	var err error
	if p.vObj, err = get(p.ctx, p.sync.VirtualClient, p.r.syncer.Resource(), p.req); err != nil {
		return err
	}
	for _, host := range p.places() {
		p.host = host
		if p.vObj == nil {
			p.r.mem.unwait(p.req, host)
		}
		p.pObj, err = get(p.ctx, p.sync.PhysicalClient, p.r.syncer.Resource(), host)
		if err != nil || p.pObj != nil {
			return err
		}
		if p.vObj == nil {
			p.r.mem.forget(p.req, host)
		}
	}
	return nil
}

// places returns the host names at which the image can be. Without the virtual
// object a translator may not know; then it is where it was.
func (p *passage) places() []types.NamespacedName {
	if host := p.r.syncer.VirtualToPhysical(p.req, p.vObj); host.Name != "" {
		return []types.NamespacedName{host}
	}
	if p.vObj != nil {
		return nil
	}
	return p.r.mem.known(p.req)
}

// get returns nil, without a type, for what does not exist.
func get(ctx context.Context, c client.Reader, into client.Object, name types.NamespacedName) (client.Object, error) {
	err := c.Get(ctx, name, into)
	if gone.Answered(err, name.Name) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return into, nil
}

// facts says what is known now.
func (p *passage) facts() (dispatch.Facts, error) {
	f := dispatch.Facts{
		Stale:     p.r.mem.behind(virtual, p.req, p.vObj) || p.r.mem.behind(physical, p.host, p.pObj),
		Here:      p.vObj != nil,
		There:     p.pObj != nil,
		Confirmed: p.confirmed || p.r.o.ConfirmAbsence == ConfirmCached,
		Up:        p.r.up != nil,
		HostFirst: p.r.o.HostDeletion == BeforeVirtual,
		Revive:    p.r.o.legacy,
		Silent:    p.r.o.OnConflict == ConflictIgnore,
	}
	if f.Here {
		f.Leaving = p.vObj.GetDeletionTimestamp() != nil
		f.Held = controllerutil.ContainsFinalizer(p.vObj, p.r.finalizer)
	}
	if !f.There || f.Stale || !f.Here && f.Up { // whose it is, an UpSyncer finds out itself
		return f, nil
	}
	f.LeavingThere = p.pObj.GetDeletionTimestamp() != nil
	f.Former = f.Here && p.former()
	var err error
	p.foreign, err = p.r.judge(p.req, p.pObj, p.vObj)
	f.Foreign = p.foreign != ""
	return f, err
}

// former tells whether the host object is the image of an object that had this name
// before, in this virtual cluster. Objects of versions that did not write the UID are taken as they are.
func (p *passage) former() bool {
	uid := p.pObj.GetAnnotations()[translator.UIDAnnotation]
	return p.r.o.UIDPolicy != UIDIgnore && uid != "" && uid != string(p.vObj.GetUID()) && p.r.image(p.req, p.pObj) && !p.r.elsewhere(p.req, p.pObj, p.vObj)
}

// image tells whether a host object bears the marks of this virtual cluster and
// name. Objects with another mark can have such annotations too, for another syncer.
func (r *reconciler) image(v types.NamespacedName, pObj client.Object) bool {
	a := pObj.GetAnnotations()
	if a[translator.NameAnnotation] != v.Name || a[translator.NamespaceAnnotation] != v.Namespace {
		return false
	}
	return r.names.IsManaged(pObj) || r.names.IsManagedCluster(r.reg.TargetNamespace, pObj)
}

// judge says why a host object is foreign to a virtual name, or "". What is
// wanted may be taken over by policy; what is to be deleted never is.
func (r *reconciler) judge(v types.NamespacedName, pObj, vObj client.Object) (string, error) {
	overwrite := r.o.OnConflict == ConflictOverwrite
	if vObj != nil && overwrite {
		return "", nil
	}
	adopt := vObj != nil && r.o.OnConflict == ConflictAdopt
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
	case (!adopt || vObj.GetDeletionTimestamp() != nil) && r.elsewhere(v, pObj, vObj):
		return "physical object with desired name belongs to another virtual cluster of the same name", nil
	default:
		return "", nil
	}
}

// VirtualName returns the virtual name of a host object of which IsManaged says that
// it belongs to the syncer, or an empty one. It returns an error if that cannot be told
// now: see translator.NameLookup.
func VirtualName(s translator.NameTranslator, pObj client.Object) (types.NamespacedName, error) {
	if l, ok := As[translator.NameLookup](s); ok {
		return l.LookupVirtual(pObj)
	}
	of := s.PhysicalToVirtual(pObj)
	if of.Name != "" {
		return of, nil
	}
	// Has it no name, or has the look-up failed that IsManaged did before? Then it fails
	// there again, or has come right since.
	if _, err := s.IsManaged(pObj); err != nil {
		return of, err
	}
	return s.PhysicalToVirtual(pObj), nil
}

// elsewhere tells whether a host object is the image of an object in another virtual
// cluster: one of the same name, or that was reached under the same address. The
// very UID of the object outweighs that of its cluster.
func (r *reconciler) elsewhere(v types.NamespacedName, pObj, vObj client.Object) bool {
	a := pObj.GetAnnotations()
	cluster := a[translator.ClusterAnnotation]
	if r.names.Cluster == "" || cluster == "" || cluster == r.names.Cluster || !r.image(v, pObj) {
		return false
	}
	return vObj == nil || a[translator.UIDAnnotation] != string(vObj.GetUID())
}
