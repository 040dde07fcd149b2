package bridge

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// maxSyncs is how often the syncer may change the status in a row. If it changes the status more
// often, this is an error. Most syncers change it once.
const maxSyncs = 5

// An externalClient is the external client of one pass.
type externalClient struct {
	*Bridge

	observed client.Object // the host object as observed last, nil without one
	status   *any          // the status that the syncer wrote last, nil if none
}

var (
	_ managed.ExternalClient    = &externalClient{}
	_ managed.BackendIdentifier = &externalClient{}
)

// Identity returns the UID of the host's kube-system namespace.
func (c *externalClient) Identity() string { return string(c.hostIdentity.UID()) }

// Observe reads the host object and determines its owner. It calls Sync with a client that sends
// nothing, to find out whether the host object is up to date.
func (c *externalClient) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	v, err := c.virtual(mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if c.observed, err = c.read(ctx, v); err != nil || c.observed == nil {
		return managed.ExternalObservation{}, err
	}
	o := managed.ExternalObservation{ResourceExists: true}
	o.Owner, err = c.owner(v, c.observed)
	if o.Owner == managed.OwnerOther {
		o.OwnerNamespace = c.ownerNamespace(c.observed)
	}
	if err != nil || o.Owner != managed.OwnerOurs {
		return o, err // its status is not copied; an update adopts it
	}
	mg.SetConditions(c.ready(c.observed))
	if c.observed.GetDeletionTimestamp() != nil {
		o.ResourceUpToDate = true // an object that is being deleted is not updated
		return o, nil
	}
	var changes []string
	if err := c.sync(ctx, mg, dryRunClient{Client: c.physical(c.observed), changes: &changes}); err != nil {
		return o, errors.Wrap(err, "cannot compare the host object")
	}
	o.ResourceUpToDate, o.Diff = len(changes) == 0, strings.Join(changes, "; ")
	return o, c.updateStatus(mg)
}

// Create calls SyncDown. If the host name is taken, it returns an external.AlreadyExists error.
func (c *externalClient) Create(ctx context.Context, mg resource.Managed) error {
	v, err := c.virtual(mg)
	if err != nil {
		return err
	}
	_, err = c.syncer.SyncDown(c.context(ctx, v, c.physical(nil)), v)
	if err == nil {
		return c.updateStatus(mg)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		if there, readErr := c.read(ctx, v); readErr == nil && there != nil {
			return external.AlreadyExists(err)
		}
	}
	return err
}

// Update calls Sync with the host object that was observed in this pass.
func (c *externalClient) Update(ctx context.Context, mg resource.Managed) error {
	if c.observed == nil {
		if _, err := c.Observe(ctx, mg); err != nil {
			return err
		}
	}
	if c.observed == nil {
		return external.NotFound(errors.New("there is no host object"))
	}
	if err := c.sync(ctx, mg, c.physical(nil)); err != nil {
		return err
	}
	return c.updateStatus(mg)
}

// Delete deletes the host object, with its UID and resourceVersion as preconditions. If this pass
// has not observed the host object, Delete reads it, and deletes it only if the managed resource
// owns it.
func (c *externalClient) Delete(ctx context.Context, mg resource.Managed) error {
	v, err := c.virtual(mg)
	if err != nil {
		return err
	}
	pObj := c.observed
	if pObj == nil {
		if pObj, err = c.read(ctx, v); err != nil || pObj == nil {
			return err
		}
		if owner, err := c.owner(v, pObj); err != nil || owner != managed.OwnerOurs {
			return err
		}
	}
	_, err = syncer.DeleteObject(c.context(ctx, v, c.physical(nil)), pObj)
	return err
}

// owner returns the owner that the ownership marks of a host object name.
func (c *externalClient) owner(v, pObj client.Object) (managed.Owner, error) {
	ours, err := c.syncer.IsManaged(pObj)
	if err != nil {
		return managed.OwnerUnknown, errors.Wrap(err, "cannot determine the owner of the host object")
	}
	a := pObj.GetAnnotations()
	if !ours {
		if a[translator.NameAnnotation] == "" && pObj.GetLabels()[translate.MarkerLabel] == "" {
			return managed.OwnerNone, nil
		}
		return managed.OwnerOther, nil
	}
	of, err := syncer.VirtualName(c.syncer, pObj)
	if err != nil {
		return managed.OwnerUnknown, errors.Wrap(err, "cannot determine the virtual object of the host object")
	}
	uid, cluster := a[translator.UIDAnnotation], a[translator.ClusterAnnotation]
	names := synccontext.NamesOf(c.reg)
	switch {
	case of != client.ObjectKeyFromObject(v):
		return managed.OwnerOther, nil
	case uid != "" && uid != string(v.GetUID()):
		return managed.OwnerOther, nil // a former object of that name, or one in another cluster
	case uid == "" && cluster != "" && names.Cluster != "" && cluster != names.Cluster:
		return managed.OwnerOther, nil
	default:
		return managed.OwnerOurs, nil
	}
}

// ownerNamespace returns the namespace of the virtual object that owns a host object, or "" if it
// is unknown.
func (c *externalClient) ownerNamespace(pObj client.Object) string {
	ours, err := c.syncer.IsManaged(pObj)
	if err != nil || !ours {
		return ""
	}
	of, err := syncer.VirtualName(c.syncer, pObj)
	if err != nil {
		return ""
	}
	return of.Namespace
}

// sync calls Sync repeatedly, until a call does not change the status that the syncer writes.
func (c *externalClient) sync(ctx context.Context, mg resource.Managed, host client.Client) error {
	for range maxSyncs {
		v, err := c.virtual(mg)
		if err != nil {
			return err
		}
		before := c.status
		pObj := c.observed.DeepCopyObject().(client.Object)
		if _, err := c.syncer.Sync(c.context(ctx, v, host), pObj, v); err != nil || c.status == before {
			return err
		}
	}
	return errors.Errorf("the syncer changed the status %d times in a row", maxSyncs)
}

// context returns the context with which the syncer is called for one virtual object.
func (c *externalClient) context(ctx context.Context, v client.Object, host client.Client) *synccontext.SyncContext {
	sync := syncer.NewCallContext(ctx, c.reg, c.syncer, v.GetName())
	if r, ok := host.(dryRunClient); ok {
		sync.CurrentNamespaceClient = dryRunClient{Client: sync.CurrentNamespaceClient, changes: r.changes}
	}
	sync.PhysicalClient = host
	sync.VirtualClient = virtualClient{Client: sync.VirtualClient, externalClient: c, v: v}
	return sync
}

// physical returns a client of the host that reads from the API server, because there may be no
// cache. The client returns observed without a request.
func (c *externalClient) physical(observed client.Object) client.Client {
	return liveClient{Client: c.reg.PhysicalManager.GetClient(), live: c.live, observed: observed}
}

// virtual returns the object that is passed to the syncer. It is a copy of mg with the external
// name and with the status that the syncer has written. It does not have the annotations for the
// reconciler.
func (c *externalClient) virtual(mg resource.Managed) (client.Object, error) {
	v := mg.DeepCopyObject().(client.Object)
	if name := meta.GetExternalName(mg); name != "" {
		v.SetName(name)
	}
	annotations := v.GetAnnotations()
	for key := range annotations {
		if ownAnnotation(key) {
			delete(annotations, key)
		}
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	v.SetAnnotations(annotations)
	if c.status == nil {
		return v, nil
	}
	return v, setStatus(v, *c.status)
}

// ownAnnotation reports whether an annotation is for the reconciler, such as a policy or the
// external name.
func ownAnnotation(key string) bool {
	return strings.HasPrefix(key, "krateo.io/") || strings.HasPrefix(key, "moorage.dev/")
}
