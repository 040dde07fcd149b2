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

// Streams is what a Client needs of NATS for streams. Names that do not exist are
// told by jetstream.ErrStreamNotFound, names that are taken by
// jetstream.ErrStreamNameAlreadyInUse.
type Streams interface {
	Info(ctx context.Context, name string) (*jetstream.StreamInfo, error)
	Create(ctx context.Context, cfg jetstream.StreamConfig) error
	Update(ctx context.Context, cfg jetstream.StreamConfig) error
	Delete(ctx context.Context, name string) error
}

// Consumers is what a Client needs of NATS for consumers. Names that do not exist
// are told by jetstream.ErrConsumerNotFound, or jetstream.ErrStreamNotFound if it
// is that of the stream; names that are taken by jetstream.ErrConsumerExists.
type Consumers interface {
	ConsumerInfo(ctx context.Context, stream, name string) (*jetstream.ConsumerInfo, error)
	CreateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) error
	UpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) error
	PauseConsumer(ctx context.Context, stream, name string, until time.Time) error
	DeleteConsumer(ctx context.Context, stream, name string) error
}

// A JetStream is all that a Client needs of NATS. A natsconn.Conn is one.
type JetStream interface {
	Streams
	Consumers

	// Address returns where it is.
	Address() natsconn.Address

	// Identity returns which it is, whatever its address, or nothing if that
	// is not told.
	Identity(ctx context.Context) (string, error)
}

// A Client does for one object what its spec asks for. It reads the owner of what
// it changes just before it does, because NATS has no condition on an update. It
// serves one pass, and is not to be used concurrently. Use NewClient.
type Client struct {
	nats  *Link
	kind  Kind
	stamp managed.Stamp

	// identity is that of the JetStream, or empty.
	identity string

	// seen is when what Observe saw last was created, and mark the mark that it bore.
	seen, mark string
}

// NewClient returns the client of one object of the given kind, which owns what
// bears the stamp. Disconnect releases the link.
func NewClient(nats *Link, kind Kind, stamp managed.Stamp) *Client {
	return &Client{nats: nats, kind: kind, stamp: stamp}
}

// DescribeConnection says over which connection the calls go.
func (c *Client) DescribeConnection() managed.Connection { return c.nats.Connection }

// Identity returns which JetStream it is, or nothing if that is not known.
func (c *Client) Identity() string { return c.identity }

// Disconnect gives the connection back.
func (c *Client) Disconnect(context.Context) error {
	c.nats.Release()

	return nil
}

// Observe looks at what the object is about, and puts what it sees into the
// status of mg if that is ours.
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

// observe says what was seen, and puts it into the status of mg if that is ours.
func (c *Client) observe(mg resource.Managed, t target, seen *sight) (managed.ExternalObservation, error) {
	out := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: c.owner(mg, t, seen)}
	c.seen, c.mark = when(seen.created), seen.metadata[managed.StampKey]

	switch out.Owner {
	case managed.OwnerOther:
		out.OwnerStamp = managed.Stamp(c.mark)

		c.forget(t, seen)

		// It lacks our mark, whatever it is otherwise: if the reconciler takes it over
		// by force, it has to be updated. Nothing of it is shown before.
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

	// What an object that is going away asks for does not matter any more, not
	// even if it makes no sense.
	if meta.WasDeleted(mg) {
		return out, nil
	}

	return c.compare(mg, t, seen, out)
}

// await tells that a consumer waits for its stream. What goes away waits for
// nothing: without its stream, it is gone.
func (c *Client) await(mg resource.Managed, t target, err error) error {
	if meta.WasDeleted(mg) {
		return nil
	}

	// What was there went with its stream.
	*t.recorded = ""

	mg.SetConditions(commonv1.Unavailable().WithMessage("its stream does not exist"))

	return awaiting(errors.Wrapf(err, "cannot look at %s", t.label))
}

// show tells of what is nobody's, because the user asks for no more than a look at
// it. When it was created is not recorded: that would prove it ours.
func (c *Client) show(mg resource.Managed, t target, seen *sight) {
	seen.report()

	*t.recorded = ""

	mg.SetConditions(readiness(seen))
}

// onlyObserves tells whether the user asks for no more than a look, in the spec or
// by an annotation.
func onlyObserves(mg resource.Managed) bool {
	m, ok := mg.(resource.Manageable)

	return meta.ShouldOnlyObserve(mg) ||
		ok && m.GetManagementPolicies().Equal(commonv1.ManagementPolicies{commonv1.ManagementActionObserve})
}

// compare compares what is with what the object asks for. That our mark is not
// there is no difference to who only looks: nobody is to put it there.
func (c *Client) compare(mg resource.Managed, t target, seen *sight, out managed.ExternalObservation) (managed.ExternalObservation, error) {
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

	return out, nil
}

// Create creates what the object asks for.
func (c *Client) Create(ctx context.Context, mg resource.Managed) error {
	t, err := c.kind.target(c.nats, mg)
	if err != nil {
		return err
	}

	mg.SetConditions(commonv1.Creating())

	return classify(t.create(ctx, c.own()), "create", t.label)
}

// Update corrects it. What NATS does not change is refused without asking,
// because its answer does not tell it from other mistakes.
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
		return errors.Errorf("%s has just been deleted by somebody else", t.label)
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

// Delete deletes it with everything in it.
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

// own is the metadata that says whose it is.
func (c *Client) own() map[string]string {
	return map[string]string{managed.StampKey: string(c.stamp)}
}

// owner says whose something is. Its mark tells; but whoever updates it and does
// not know of metadata takes the mark off, and then the time of its creation
// tells, if a pass that found the mark has recorded it. Only such a pass records
// it, so it is never that of a stranger's.
func (c *Client) owner(mg resource.Managed, t target, seen *sight) managed.Owner {
	mark, recorded := seen.metadata[managed.StampKey], *t.recorded

	switch {
	case mark != "":
		return c.stamp.Owner(mark)
	case recorded == "":
		return managed.OwnerNobody
	case recorded == when(seen.created):
		return managed.OwnerOurs
	case meta.GetExternalCreateSucceeded(mg).IsZero(), meta.ShouldAdopt(mg):
		return managed.OwnerNobody
	default:
		// What this object once adopted was another: that this one is
		// nobody's does not make it ours.
		return managed.OwnerOther
	}
}

// forget drops the proof that something was ours when it bears another's mark: it
// stays his if that mark is lost, too.
func (c *Client) forget(t target, seen *sight) {
	if seen.metadata[managed.StampKey] != "" {
		*t.recorded = ""
	}
}

// owned looks once more and fails if it has become somebody else's. What is not ours must
// be what the reconciler decided upon: it takes over what is nobody's where the adoption
// policy says so, and what bears another's mark where that is force, and calls neither
// Update nor Delete otherwise. Nil is what is gone.
func (c *Client) owned(ctx context.Context, mg resource.Managed, t target) (*sight, error) {
	seen, err := t.look(ctx)
	if err != nil || seen == nil {
		return nil, errors.Wrapf(err, "cannot see who owns %s", t.label)
	}

	switch owner := c.owner(mg, t, seen); {
	case owner == managed.OwnerOurs:
		return seen, nil
	case owner == managed.OwnerOther && c.mark != seen.metadata[managed.StampKey]:
		return nil, errors.Errorf("%s has just become the property of somebody else: it is left alone", t.label)
	case c.seen != when(seen.created):
		return nil, errors.Errorf("%s has just been made anew by somebody else: it is left alone", t.label)
	default:
		return seen, nil
	}
}

func (c *Client) immutable(t target, r jsconfig.Refusal) error {
	return external.Terminal(reasonImmutableField, errors.Errorf(
		"spec.forProvider of %s: %s; set it back, or, if %s may be lost, delete this object and create it again", t.label, r, c.kind.loss))
}

// readiness tells whether clients can use what was seen: whether it has a leader.
func readiness(seen *sight) commonv1.Condition {
	if seen.cluster == nil || seen.cluster.Leader != "" {
		return commonv1.Available()
	}

	return commonv1.Unavailable().WithMessage("it has no leader: too few of its servers are up")
}
