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

// ownerAge is how long an owner that was read is taken for the one that there is. An object
// that was made within that time for a service that is gone is collected, and made again.
const ownerAge = time.Second

// An owner is the service that owns host objects. Its UID changes when it is recreated.
type owner struct {
	reader client.Reader
	key    client.ObjectKey
	clock  clock.PassiveClock

	mu   sync.Mutex // held while it is read
	last *corev1.Service
	at   time.Time
}

// newOwner returns the service that owns host objects, or nil if there is to be none.
func newOwner(ctx context.Context, host *rest.Config, o RegisterOptions) (*owner, error) {
	if !o.SetOwner || o.ServiceName == "" {
		return nil, nil
	}
	c, err := client.New(host, client.Options{}) // of client-go's kinds, whatever the syncers' are
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client for the physical cluster")
	}
	w := &owner{reader: c, key: client.ObjectKey{Namespace: o.currentNamespace(), Name: o.ServiceName}, clock: clock.RealClock{}}
	_, err = w.renew(ctx)
	return w, err
}

// tell the context who the owner is.
func (o *owner) tell(reg *synccontext.RegisterContext) {
	if o != nil {
		reg.Names.Owner, reg.RenewOwner = o.last, o.renew
	}
}

// renew returns the UID of the service that there is.
func (o *owner) renew(ctx context.Context) (types.UID, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last != nil && o.clock.Since(o.at) < ownerAge {
		return o.last.UID, nil
	}
	service := &corev1.Service{}
	if err := o.reader.Get(ctx, o.key, service); err != nil {
		return "", errors.Wrap(err, "cannot read the service that owns the host objects")
	}
	o.last, o.at = service, o.clock.Now()
	return service.UID, nil
}

// A renewing client puts the owner that there is now into what it creates.
type renewing struct {
	uid   types.UID // of the owner when the process started
	renew func(context.Context) (types.UID, error)
}

// renewingOf returns what the syncers of a context need, nil if the owner never changes.
func renewingOf(reg *synccontext.RegisterContext) *renewing {
	if reg.RenewOwner == nil {
		return nil
	}
	if first := synccontext.NamesOf(reg).Owner; first != nil {
		return &renewing{first.GetUID(), reg.RenewOwner}
	}
	return nil
}

// own sets the UID of the owner in an object that does not exist yet.
func (r *renewing) own(ctx context.Context, obj metav1.Object) error {
	if r == nil || obj.GetUID() != "" {
		return nil
	}
	refs := obj.GetOwnerReferences()
	for i := range refs {
		if refs[i].UID != r.uid {
			continue
		}
		uid, err := r.renew(ctx)
		if err != nil {
			return err
		}
		refs[i].UID = uid
		obj.SetOwnerReferences(refs)
		return nil
	}
	return nil
}
