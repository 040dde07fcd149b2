// Package bucket reconciles Buckets with the buckets of an object store.
package bucket

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/api/v1alpha1"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/objectstore"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// +kubebuilder:rbac:groups=objectstore.example.org,resources=buckets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=objectstore.example.org,resources=buckets/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get

// Setup adds a controller of buckets to a manager.
func Setup(ctx context.Context, m ctrl.Manager, store objectstore.Client, o controller.Options) error {
	cluster, err := managed.ClusterUID(ctx, m.GetAPIReader())
	if err != nil {
		return err
	}
	stamp := func(b *v1alpha1.Bucket) managed.Stamp {
		return managed.NewStamp(cluster, v1alpha1.GroupVersion.WithKind("Bucket").GroupKind(), b)
	}

	return managed.Setup(m, v1alpha1.BucketKind, o,
		managed.WithTypedExternalConnector(Connector{Store: store, Stamp: stamp}),
		managed.WithDeterministicExternalName(true), // the object and its bucket have the same name
		managed.WithCreationGracePeriod(0),          // reads of the object store are strongly consistent
		managed.WithKstatusConditions())
}

// A Connector returns clients for buckets.
type Connector struct {
	Store objectstore.Client
	Stamp func(*v1alpha1.Bucket) managed.Stamp
}

// Connect returns the client for one bucket and one pass.
func (c Connector) Connect(ctx context.Context, b *v1alpha1.Bucket) (
	managed.TypedExternalClient[*v1alpha1.Bucket], error,
) {
	external.Conceal(ctx, []byte(c.Store.Token)) // no error, event or log line of this pass shows it

	return &client{store: c.Store, stamp: c.Stamp(b)}, nil
}

// A client is used for one pass.
type client struct {
	store    objectstore.Client
	stamp    managed.Stamp
	observed *objectstore.Bucket // by Observe
}

// Observe reports whether the bucket exists, whether it is up to date, and who owns it.
func (c *client) Observe(ctx context.Context, b *v1alpha1.Bucket) (managed.ExternalObservation, error) {
	found, err := c.store.Get(ctx, meta.GetExternalName(b))
	if errors.Is(err, objectstore.ErrNotFound) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrap(classify(err), "cannot get the bucket")
	}
	c.observed = &found
	owner := c.stamp.Owner(found.Tag)
	if owner == managed.OwnerOther { // nothing of it is shown; it is not up to date, so a takeover by force stamps it
		return managed.ExternalObservation{
			ResourceExists: true, Owner: owner, OwnerStamp: managed.Stamp(found.Tag),
		}, nil
	}
	b.Status.Objects = found.Objects
	b.SetConditions(commonv1.Available())
	// An adopted bucket is not up to date before it has our stamp.
	unstamped := owner == managed.OwnerNone && !meta.GetExternalCreateSucceeded(b).IsZero()

	return managed.ExternalObservation{
		ResourceExists:   true,
		ResourceUpToDate: found.QuotaGiB == b.Spec.QuotaGiB && found.Versioning == b.Spec.Versioning && !unstamped,
		Owner:            owner,
	}, nil
}

// Create creates the bucket.
func (c *client) Create(ctx context.Context, b *v1alpha1.Bucket) error {
	return classify(c.store.Create(ctx, c.desired(b)))
}

// Update changes the bucket to the desired state.
func (c *client) Update(ctx context.Context, b *v1alpha1.Bucket) error {
	if err := c.checkOwner(ctx, b); err != nil {
		return classify(err)
	}

	return classify(c.store.Update(ctx, c.desired(b)))
}

// Delete deletes the bucket. It returns no error if the bucket does not exist.
func (c *client) Delete(ctx context.Context, b *v1alpha1.Bucket) error {
	err := c.checkOwner(ctx, b)
	if err == nil {
		err = c.store.Delete(ctx, meta.GetExternalName(b))
	}
	if errors.Is(err, objectstore.ErrNotFound) {
		return nil
	}

	return classify(err)
}

// checkOwner reads the bucket again just before a change, because the API has no
// conditional writes. A bucket without our stamp must be as Observe saw it: then the
// reconciler has decided, by the adoption policy, to take it over.
func (c *client) checkOwner(ctx context.Context, b *v1alpha1.Bucket) error {
	found, err := c.store.Get(ctx, meta.GetExternalName(b))
	if err != nil {
		return err
	}
	if c.stamp.Owner(found.Tag) != managed.OwnerOurs && (c.observed == nil || c.observed.Tag != found.Tag) {
		return errors.New("the bucket is not ours, or its owner has just changed: it is left unchanged")
	}

	return nil
}

// desired returns the bucket that an object asks for, with our stamp.
func (c *client) desired(b *v1alpha1.Bucket) objectstore.Bucket {
	return objectstore.Bucket{
		Name: meta.GetExternalName(b), QuotaGiB: b.Spec.QuotaGiB, Versioning: b.Spec.Versioning, Tag: string(c.stamp),
	}
}

// classify marks an error with its meaning for the reconciler.
func classify(err error) error {
	switch {
	case errors.Is(err, objectstore.ErrConflict):
		return external.AlreadyExists(err) // the reconciler observes it, to find out who owns it
	case errors.Is(err, objectstore.ErrInvalid):
		return external.Terminal("InvalidBucket", err) // not retried before the spec changes
	case errors.Is(err, objectstore.ErrUnavailable):
		return external.Unavailable(err) // affects all buckets, not only this one
	default:
		return err
	}
}
