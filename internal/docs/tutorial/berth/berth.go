// Package berth keeps Berths and the berths of a harbour in step.
package berth

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/api/v1alpha1"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/harbour"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// +kubebuilder:rbac:groups=harbour.example.org,resources=berths,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=harbour.example.org,resources=berths/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get

// Setup adds a controller of berths to a manager.
func Setup(ctx context.Context, m ctrl.Manager, h harbour.Client, o controller.Options) error {
	cluster, err := managed.ClusterUID(ctx, m.GetAPIReader())
	if err != nil {
		return err
	}
	stamp := func(b *v1alpha1.Berth) managed.Stamp {
		return managed.NewStamp(cluster, v1alpha1.GroupVersion.WithKind("Berth").GroupKind(), b)
	}

	return managed.Setup(m, v1alpha1.BerthKind, o,
		managed.WithTypedExternalConnector(Connector{Harbour: h, Stamp: stamp}),
		managed.WithDeterministicExternalName(true), // the name of the object is that of the berth
		managed.WithCreationGracePeriod(0),          // the office shows at once what it created
		managed.WithKstatusConditions())
}

// A Connector connects berths to the office.
type Connector struct {
	Harbour harbour.Client
	Stamp   func(*v1alpha1.Berth) managed.Stamp
}

// Connect returns what looks after a berth.
func (c Connector) Connect(ctx context.Context, b *v1alpha1.Berth) (managed.TypedExternalClient[*v1alpha1.Berth], error) {
	external.Conceal(ctx, []byte(c.Harbour.Token)) // no error, event or log line of this pass will show it

	return &client{harbour: c.Harbour, stamp: c.Stamp(b)}, nil
}

// A client is for one pass.
type client struct {
	harbour harbour.Client
	stamp   managed.Stamp
	seen    *harbour.Berth // by Observe
}

// Observe says whether the berth is there, whether it is as desired, and whose it is.
func (c *client) Observe(ctx context.Context, b *v1alpha1.Berth) (managed.ExternalObservation, error) {
	found, err := c.harbour.Get(ctx, meta.GetExternalName(b))
	if errors.Is(err, harbour.ErrNotFound) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrap(classify(err), "cannot ask the harbour")
	}
	c.seen = &found
	owner := c.stamp.Owner(found.Note)
	if owner == managed.OwnerOther { // nothing of it is shown, and it lacks our stamp, which an Update by force writes
		return managed.ExternalObservation{ResourceExists: true, Owner: owner, OwnerStamp: managed.Stamp(found.Note)}, nil
	}
	b.Status.Ship = found.Ship
	b.SetConditions(commonv1.Available())
	unstamped := owner == managed.OwnerNobody && !meta.GetExternalCreateSucceeded(b).IsZero() // although it was adopted

	return managed.ExternalObservation{
		ResourceExists:   true,
		ResourceUpToDate: found.Metres == b.Spec.Metres && found.Power == b.Spec.Power && !unstamped,
		Owner:            owner,
	}, nil
}

// Create the berth.
func (c *client) Create(ctx context.Context, b *v1alpha1.Berth) error {
	return classify(c.harbour.Create(ctx, c.desired(b)))
}

// Update the berth.
func (c *client) Update(ctx context.Context, b *v1alpha1.Berth) error {
	if err := c.check(ctx, b); err != nil {
		return classify(err)
	}

	return classify(c.harbour.Update(ctx, c.desired(b)))
}

// Delete the berth. That it is gone already is no error.
func (c *client) Delete(ctx context.Context, b *v1alpha1.Berth) error {
	err := c.check(ctx, b)
	if err == nil {
		err = c.harbour.Delete(ctx, meta.GetExternalName(b))
	}
	if errors.Is(err, harbour.ErrNotFound) {
		return nil
	}

	return classify(err)
}

// check looks once more just before a change, because the office has no condition on one.
// What does not bear our stamp must be as Observe saw it: the reconciler has then decided,
// by the adoption policy, to have it.
func (c *client) check(ctx context.Context, b *v1alpha1.Berth) error {
	found, err := c.harbour.Get(ctx, meta.GetExternalName(b))
	if err != nil {
		return err
	}
	if c.stamp.Owner(found.Note) != managed.OwnerOurs && (c.seen == nil || c.seen.Note != found.Note) {
		return errors.New("the berth is not ours, or has just become somebody else's: it is left alone")
	}

	return nil
}

func (c *client) desired(b *v1alpha1.Berth) harbour.Berth {
	return harbour.Berth{
		Name: meta.GetExternalName(b), Metres: b.Spec.Metres, Power: b.Spec.Power, Note: string(c.stamp),
	}
}

// classify says what the reconciler cannot know: what an error means.
func classify(err error) error {
	switch {
	case errors.Is(err, harbour.ErrTaken):
		return external.AlreadyExists(err) // look again: whose is it?
	case errors.Is(err, harbour.ErrRefused):
		return external.Terminal("BerthRefused", err) // of no use before the spec changes
	case errors.Is(err, harbour.ErrUnavailable):
		return external.Unavailable(err) // of no use for other berths either
	default:
		return err
	}
}
