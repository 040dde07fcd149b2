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

// rounds is how often a syncer may bring another status up before it comes to rest.
// Most do so once, and return.
const rounds = 5

// A carrier is the external client of one pass.
type carrier struct {
	*Bridge

	seen   client.Object // the host object as observed last, nil without one
	status *any          // what the syncer brought up last, nil if nothing
}

var (
	_ managed.ExternalClient    = &carrier{}
	_ managed.BackendIdentifier = &carrier{}
)

// Identity of the host is the UID of its kube-system namespace.
func (c *carrier) Identity() string { return string(c.witness.UID()) }

func (c *carrier) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	v, err := c.virtual(mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if c.seen, err = c.read(ctx, v); err != nil || c.seen == nil {
		return managed.ExternalObservation{}, err
	}
	o := managed.ExternalObservation{ResourceExists: true}
	o.Owner, err = c.owner(v, c.seen)
	if o.Owner == managed.OwnerOther {
		o.OwnerNamespace = c.ownerNamespace(c.seen)
	}
	if err != nil || o.Owner != managed.OwnerOurs {
		return o, err // nothing of it is shown; to make it ours is an update
	}
	mg.SetConditions(c.ready(c.seen))
	if c.seen.GetDeletionTimestamp() != nil {
		o.ResourceUpToDate = true // there is no use in changing what goes
		return o, nil
	}
	var would []string
	if err := c.sync(ctx, mg, rehearsal{Client: c.physical(c.seen), would: &would}); err != nil {
		return o, errors.Wrap(err, "cannot compare the host object")
	}
	o.ResourceUpToDate, o.Diff = len(would) == 0, strings.Join(would, "; ")
	return o, c.show(mg)
}

func (c *carrier) Create(ctx context.Context, mg resource.Managed) error {
	v, err := c.virtual(mg)
	if err != nil {
		return err
	}
	_, err = c.syncer.SyncDown(c.context(ctx, v, c.physical(nil)), v)
	if err == nil {
		return c.show(mg)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		if there, readErr := c.read(ctx, v); readErr == nil && there != nil {
			return external.AlreadyExists(err)
		}
	}
	return err
}

// Update needs the host object that was observed in this pass.
func (c *carrier) Update(ctx context.Context, mg resource.Managed) error {
	if c.seen == nil {
		if _, err := c.Observe(ctx, mg); err != nil {
			return err
		}
	}
	if c.seen == nil {
		return external.NotFound(errors.New("there is no host object"))
	}
	if err := c.sync(ctx, mg, c.physical(nil)); err != nil {
		return err
	}
	return c.show(mg)
}

// Delete what was observed, or what is there now if it is ours; and only that very
// object in the version that was looked at.
func (c *carrier) Delete(ctx context.Context, mg resource.Managed) error {
	v, err := c.virtual(mg)
	if err != nil {
		return err
	}
	pObj := c.seen
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

// owner reads the marks of a host object.
func (c *carrier) owner(v, pObj client.Object) (managed.Owner, error) {
	ours, err := c.syncer.IsManaged(pObj)
	if err != nil {
		return managed.OwnerUnknown, errors.Wrap(err, "cannot tell whose the host object is")
	}
	a := pObj.GetAnnotations()
	if !ours {
		if a[translator.NameAnnotation] == "" && pObj.GetLabels()[translate.MarkerLabel] == "" {
			return managed.OwnerNobody, nil
		}
		return managed.OwnerOther, nil
	}
	of, err := syncer.VirtualName(c.syncer, pObj)
	if err != nil {
		return managed.OwnerUnknown, errors.Wrap(err, "cannot tell of which object the host object is")
	}
	uid, cluster := a[translator.UIDAnnotation], a[translator.ClusterAnnotation]
	names := synccontext.NamesOf(c.reg)
	switch {
	case of != client.ObjectKeyFromObject(v):
		return managed.OwnerOther, nil
	case uid != "" && uid != string(v.GetUID()):
		return managed.OwnerOther, nil // its namesake of former times, or in another cluster
	case uid == "" && cluster != "" && names.Cluster != "" && cluster != names.Cluster:
		return managed.OwnerOther, nil
	default:
		return managed.OwnerOurs, nil
	}
}

// ownerNamespace returns the namespace of the object whose image a host object is, if that
// is known.
func (c *carrier) ownerNamespace(pObj client.Object) string {
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

// sync lets the syncer see both objects, until it brings no other status up.
func (c *carrier) sync(ctx context.Context, mg resource.Managed, host client.Client) error {
	for range rounds {
		v, err := c.virtual(mg)
		if err != nil {
			return err
		}
		before := c.status
		pObj := c.seen.DeepCopyObject().(client.Object)
		if _, err := c.syncer.Sync(c.context(ctx, v, host), pObj, v); err != nil || c.status == before {
			return err
		}
	}
	return errors.Errorf("the syncer brought up another status %d times in a row", rounds)
}

// context is what the syncer is called with for one virtual object.
func (c *carrier) context(ctx context.Context, v client.Object, host client.Client) *synccontext.SyncContext {
	sync := syncer.NewCallContext(ctx, c.reg, c.syncer, v.GetName())
	if r, rehearses := host.(rehearsal); rehearses {
		sync.CurrentNamespaceClient = rehearsal{Client: sync.CurrentNamespaceClient, would: r.would}
	}
	sync.PhysicalClient = host
	sync.VirtualClient = desk{Client: sync.VirtualClient, carrier: c, v: v}
	return sync
}

// physical returns a client of the host that reads from its API server; there need be
// no cache. The object that was read in this pass is not read again.
func (c *carrier) physical(seen client.Object) client.Client {
	return direct{Client: c.reg.PhysicalManager.GetClient(), live: c.live, seen: seen}
}

// virtual returns the object that the syncer is to see: under its external name,
// without the annotations that are for the reconciler, and with the status that was
// brought up.
func (c *carrier) virtual(mg resource.Managed) (client.Object, error) {
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

// ownAnnotation tells whether an annotation is between users and the reconciler on
// this side: policies, names, marks.
func ownAnnotation(key string) bool {
	return strings.HasPrefix(key, "krateo.io/") || strings.HasPrefix(key, "moorage.dev/")
}
