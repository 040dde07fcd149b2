package syncer

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// ownerCacheTTL is how long the UID of the owner is cached. If the service is recreated within that
// time, a new host object may get the former UID. Such an object is garbage collected and created
// again.
const ownerCacheTTL = time.Second

// An ownerService is the service that owns host objects. Its UID changes when the service
// is recreated.
type ownerService struct {
	reader client.Reader
	key    client.ObjectKey
	clock  clock.PassiveClock

	mu     sync.Mutex // held while the service is read
	last   *corev1.Service
	readAt time.Time
}

// newOwnerService reads the service that owns host objects. It returns nil if the options name no
// owner.
func newOwnerService(ctx context.Context, host *rest.Config, o RegisterOptions) (*ownerService, error) {
	if !o.SetOwner || o.ServiceName == "" {
		return nil, nil
	}
	c, err := client.New(host, client.Options{}) // the scheme of the syncers may lack services
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a client for the physical cluster")
	}
	w := &ownerService{
		reader: c, key: client.ObjectKey{Namespace: o.currentNamespace(), Name: o.ServiceName}, clock: clock.RealClock{},
	}
	_, err = w.currentUID(ctx)
	return w, err
}

// setIn sets the owner in the context. It does nothing if the owner is nil.
func (o *ownerService) setIn(reg *synccontext.RegisterContext) {
	if o != nil {
		reg.Names.Owner, reg.RenewOwner = o.last, o.currentUID
	}
}

// currentUID returns the UID of the service, cached for ownerCacheTTL. It is safe for
// concurrent use.
func (o *ownerService) currentUID(ctx context.Context) (types.UID, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last != nil && o.clock.Since(o.readAt) < ownerCacheTTL {
		return o.last.UID, nil
	}
	service := &corev1.Service{}
	if err := o.reader.Get(ctx, o.key, service); err != nil {
		return "", errors.Wrap(err, "cannot read the service that owns the host objects")
	}
	o.last, o.readAt = service, o.clock.Now()
	return service.UID, nil
}

// An ownerUpdater replaces the UID of the owner in objects that are about to be created. It
// replaces the UID that the owner had when the process started by the current UID.
type ownerUpdater struct {
	startUID   types.UID // of the owner when the process started
	currentUID func(context.Context) (types.UID, error)
}

// newOwnerUpdater returns the ownerUpdater of a context, or nil if the owner never
// changes.
func newOwnerUpdater(reg *synccontext.RegisterContext) *ownerUpdater {
	if reg.RenewOwner == nil {
		return nil
	}
	if first := synccontext.NamesOf(reg).Owner; first != nil {
		return &ownerUpdater{first.GetUID(), reg.RenewOwner}
	}
	return nil
}

// updateOwner sets the current UID of the owner in an object. It does nothing if the object has a
// UID, because the object then exists already. It does not change other owner references.
func (r *ownerUpdater) updateOwner(ctx context.Context, obj metav1.Object) error {
	if r == nil || obj.GetUID() != "" {
		return nil
	}
	refs := obj.GetOwnerReferences()
	for i := range refs {
		if refs[i].UID != r.startUID {
			continue
		}
		uid, err := r.currentUID(ctx)
		if err != nil {
			return err
		}
		refs[i].UID = uid
		obj.SetOwnerReferences(refs)
		return nil
	}
	return nil
}
