package controller

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Streams is what a Client needs of NATS for streams. The error for a name that does not exist is
// jetstream.ErrStreamNotFound, the one for a name that is taken jetstream.ErrStreamNameAlreadyInUse.
type Streams interface {
	Info(ctx context.Context, name string) (*jetstream.StreamInfo, error)
	Create(ctx context.Context, cfg jetstream.StreamConfig) error
	Update(ctx context.Context, cfg jetstream.StreamConfig) error
	Delete(ctx context.Context, name string) error
}

// Consumers is what a Client needs of NATS for consumers. The error for a name that does not exist is
// jetstream.ErrConsumerNotFound, or jetstream.ErrStreamNotFound if the stream does not exist; the one for a
// name that is taken is jetstream.ErrConsumerExists.
type Consumers interface {
	ConsumerInfo(ctx context.Context, stream, name string) (*jetstream.ConsumerInfo, error)
	CreateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) error
	UpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) error
	PauseConsumer(ctx context.Context, stream, name string, until time.Time) error
	DeleteConsumer(ctx context.Context, stream, name string) error
}

// A JetStream is everything that a Client needs of NATS. A natsconn.Conn is one.
type JetStream interface {
	Streams
	Consumers

	// Address returns the address of NATS.
	Address() natsconn.Address

	// Identity returns the identity of the JetStream, which does not depend on its address, or "" if NATS does
	// not report one.
	Identity(ctx context.Context) (string, error)
}

// A Client observes and changes the external resource of one object. NATS has no conditional updates, so
// the client reads the owner immediately before it changes something. It serves one pass, and must not be
// used concurrently. Use NewClient.
type Client struct {
	nats  *Link
	kind  Kind
	stamp managed.Stamp

	// identity is that of the JetStream, or empty.
	identity string

	// seen is the creation time of the resource that Observe saw last, and mark its owner mark.
	seen, mark string
}

// NewClient returns the client of one object of the given kind, which owns the resources with that stamp.
// Disconnect releases the link.
func NewClient(nats *Link, kind Kind, stamp managed.Stamp) *Client {
	return &Client{nats: nats, kind: kind, stamp: stamp}
}

// DescribeConnection returns the connection that the calls use.
func (c *Client) DescribeConnection() managed.Connection { return c.nats.Connection }

// Identity returns the identity of the JetStream, or "" if it is not known.
func (c *Client) Identity() string { return c.identity }

// Disconnect releases the connection.
func (c *Client) Disconnect(context.Context) error {
	c.nats.Release()

	return nil
}

// Observe looks at the external resource, and writes what it sees into the status of mg if the resource is
// ours.
func (c *Client) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	t, err := c.kind.target(c.nats, mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}

	seen, err := t.look(ctx)

	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return managed.ExternalObservation{}, c.await(mg, t, err)
	case err != nil:
		return managed.ExternalObservation{}, errors.Wrapf(err, "cannot look at %s", t.label)
	case seen == nil:
		return managed.ExternalObservation{}, nil
	}

	return c.observe(mg, t, seen)
}

// observe converts what was seen, and writes it into the status of mg if the resource is ours.
func (c *Client) observe(mg resource.Managed, t target, seen *sight) (managed.ExternalObservation, error) {
	out := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: c.owner(mg, t, seen)}
	c.seen, c.mark = when(seen.created), seen.metadata[managed.StampKey]

	switch out.Owner {
	case managed.OwnerOther:
		out.OwnerStamp = managed.Stamp(c.mark)

		c.forget(t, seen)

		// It lacks our mark, whatever it is otherwise: if the reconciler takes it over by force, it has to be
		// updated. Nothing of it is shown before.
		out.ResourceUpToDate = onlyObserves(mg)

		return out, nil
	case managed.OwnerOurs:
		seen.report()
		mg.SetConditions(readiness(seen))

		out.ConnectionDetails = details(mg, c.nats.Address(), seen.details())
	default:
		if onlyObserves(mg) && meta.ShouldAdopt(mg) {
			c.show(mg, t, seen)

			out.ConnectionDetails = details(mg, c.nats.Address(), seen.details())
		}
	}

	// The spec of an object that is being deleted does not matter any more, even if it is invalid.
	if meta.WasDeleted(mg) {
		return out, nil
	}

	return c.compare(mg, t, seen, out)
}

// await reports that a consumer waits for its stream. An object that is being deleted waits for nothing:
// without its stream, its consumer is gone.
func (c *Client) await(mg resource.Managed, t target, err error) error {
	if meta.WasDeleted(mg) {
		return nil
	}

	// The consumer was deleted with its stream.
	*t.recorded = ""

	mg.SetConditions(commonv1.Unavailable().WithMessage("its stream does not exist"))

	return awaiting(errors.Wrapf(err, "cannot look at %s", t.label))
}

// show reports a resource without an owner, because the user only asks to observe it. Its creation time is
// not recorded: that would prove it ours.
func (c *Client) show(mg resource.Managed, t target, seen *sight) {
	seen.report()

	*t.recorded = ""

	mg.SetConditions(readiness(seen))
}

// onlyObserves reports whether the user asks for no more than an observation, in the spec or by an
// annotation.
func onlyObserves(mg resource.Managed) bool {
	m, ok := mg.(resource.Manageable)

	return meta.ShouldOnlyObserve(mg) ||
		ok && m.GetManagementPolicies().Equal(commonv1.ManagementPolicies{commonv1.ManagementActionObserve})
}

// compare compares the observed state with the desired state. A missing mark is no difference for an object
// that only observes: the provider may not set it.
func (c *Client) compare(
	mg resource.Managed, t target, seen *sight, out managed.ExternalObservation,
) (managed.ExternalObservation, error) {
	own := c.own()
	if onlyObserves(mg) && seen.metadata[managed.StampKey] == "" {
		own = nil
	}

	plan, err := seen.plan(own)
	if err != nil {
		return managed.ExternalObservation{}, err
	}

	diff, err := plan.diff()
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrapf(err, "cannot compare %s", t.label)
	}

	out.ResourceUpToDate, out.Diff = len(diff) == 0, diff.String()

	if len(diff) > 0 {
		out.Differences = differencesOf(diff, plan.refused())
	}

	return out, nil
}

// Create creates the resource that the object asks for.
func (c *Client) Create(ctx context.Context, mg resource.Managed) error {
	t, err := c.kind.target(c.nats, mg)
	if err != nil {
		return err
	}

	mg.SetConditions(commonv1.Creating())

	return classify(t.create(ctx, c.own()), "create", t.label)
}

// Update corrects the resource. A change that NATS does not make is refused without a request, because the
// answer of NATS does not distinguish it from other mistakes.
func (c *Client) Update(ctx context.Context, mg resource.Managed) error {
	t, err := c.kind.target(c.nats, mg)
	if err != nil {
		return err
	}

	seen, err := c.owned(ctx, mg, t)

	switch {
	case err != nil:
		return err
	case seen == nil:
		return errors.Errorf("%s was deleted by another client meanwhile", t.label)
	}

	plan, err := seen.plan(c.own())
	if err != nil {
		return err
	}

	if refused := plan.refused(); len(refused) > 0 {
		return c.immutable(t, refused[0])
	}

	return classify(plan.send(ctx), "update", t.label)
}

// Delete deletes the resource with everything in it.
func (c *Client) Delete(ctx context.Context, mg resource.Managed) error {
	t, err := c.kind.target(c.nats, mg)
	if err != nil {
		return err
	}

	mg.SetConditions(commonv1.Deleting())

	seen, err := c.owned(ctx, mg, t)

	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err != nil || seen == nil:
		return err
	}

	return errors.Wrapf(t.remove(ctx), "cannot delete %s", t.label)
}

// own is the metadata that marks the owner.
func (c *Client) own() map[string]string {
	return map[string]string{managed.StampKey: string(c.stamp)}
}

// owner returns the owner of a resource: that of its mark. A client that does not know of metadata removes
// the mark with an update; then the creation time decides, if a pass that found the mark has recorded it.
// Only such a pass records it, so it is never that of a foreign resource.
func (c *Client) owner(mg resource.Managed, t target, seen *sight) managed.Owner {
	mark, recorded := seen.metadata[managed.StampKey], *t.recorded

	switch {
	case mark != "":
		return c.stamp.Owner(mark)
	case recorded == "":
		return managed.OwnerNone
	case recorded == when(seen.created):
		return managed.OwnerOurs
	case meta.GetExternalCreateSucceeded(mg).IsZero(), meta.ShouldAdopt(mg):
		return managed.OwnerNone
	default:
		// The resource that this object once adopted was another one: that this one has no owner does not make it
		// ours.
		return managed.OwnerOther
	}
}

// forget drops the proof that a resource was ours when it has the mark of another owner: it stays theirs if
// that mark is lost, too.
func (c *Client) forget(t target, seen *sight) {
	if seen.metadata[managed.StampKey] != "" {
		*t.recorded = ""
	}
}

// owned observes once more, and fails if the resource has another owner by now. A resource that is not ours
// must be the one that the reconciler decided upon: it takes over one without an owner where the adoption
// policy says so, and one with another mark where the policy is force, and calls neither Update nor Delete
// otherwise. Nil means that the resource is gone.
func (c *Client) owned(ctx context.Context, mg resource.Managed, t target) (*sight, error) {
	seen, err := t.look(ctx)
	if err != nil || seen == nil {
		return nil, errors.Wrapf(err, "cannot see who owns %s", t.label)
	}

	switch owner := c.owner(mg, t, seen); {
	case owner == managed.OwnerOurs:
		return seen, nil
	case owner == managed.OwnerOther && c.mark != seen.metadata[managed.StampKey]:
		return nil, errors.Errorf("%s got another owner meanwhile: it is left alone", t.label)
	case c.seen != when(seen.created):
		return nil, errors.Errorf("%s was created anew by another client meanwhile: it is left alone", t.label)
	default:
		return seen, nil
	}
}

func (c *Client) immutable(t target, r jsconfig.Refusal) error {
	return external.Terminal(reasonImmutableField, errors.Errorf(
		"spec.forProvider of %s: %s; set it back, or, if %s may be lost, delete this object and create it again",
		t.label, r, c.kind.loss))
}

// readiness reports whether clients can use the resource: whether it has a leader.
func readiness(seen *sight) commonv1.Condition {
	if seen.cluster == nil || seen.cluster.Leader != "" {
		return commonv1.Available()
	}

	return commonv1.Unavailable().WithMessage("it has no leader: too few of its servers are up")
}
