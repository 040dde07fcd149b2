package controller

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Streams is what a Client needs of NATS. Names that do not exist are told by
// jetstream.ErrStreamNotFound, names that are taken by
// jetstream.ErrStreamNameAlreadyInUse. A natsconn.Conn is one.
type Streams interface {
	Info(ctx context.Context, name string) (*jetstream.StreamInfo, error)
	Create(ctx context.Context, cfg jetstream.StreamConfig) error
	Update(ctx context.Context, cfg jetstream.StreamConfig) error
	Delete(ctx context.Context, name string) error
}

// A Client does for one object what its spec asks for. It reads the owner of a
// stream just before it changes it, because NATS has no condition on an update.
// It serves one pass, and is not to be used concurrently. Use NewClient.
type Client struct {
	streams Streams
	kind    Kind
	stamp   managed.Stamp
	release func()

	// seen is when the stream that Observe saw last was created.
	seen string
}

// NewClient returns the client of one object of the given kind, which owns what
// bears the stamp. Disconnect calls release.
func NewClient(streams Streams, kind Kind, stamp managed.Stamp, release func()) *Client {
	return &Client{streams: streams, kind: kind, stamp: stamp, release: release}
}

// Disconnect gives the connection back.
func (c *Client) Disconnect(context.Context) error {
	c.release()

	return nil
}

// Observe looks at the stream, and puts what it sees into the status of mg if
// the stream is ours.
func (c *Client) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	name, err := c.name(mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}

	info, err := c.streams.Info(ctx, name)

	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return managed.ExternalObservation{}, nil
	case err != nil:
		return managed.ExternalObservation{}, errors.Wrapf(err, "cannot look at stream %q", name)
	}

	out := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: c.owner(mg, info)}
	c.seen = created(info)

	switch out.Owner {
	case managed.OwnerOther:
		c.forget(mg, info)

		return out, nil
	case managed.OwnerOurs:
		if err := c.kind.report(mg, info); err != nil {
			return managed.ExternalObservation{}, err
		}

		mg.SetConditions(readiness(info))
	default:
		if err := c.show(mg, info); err != nil {
			return managed.ExternalObservation{}, err
		}
	}

	// What an object that is going away asks for does not matter any more, not
	// even if it makes no sense.
	if meta.WasDeleted(mg) {
		return out, nil
	}

	return c.compare(mg, info, out)
}

// show tells of a stream that is nobody's, if the user asks for no more than a
// look at it. When it was created is not recorded: that would prove it ours.
func (c *Client) show(mg resource.Managed, info *jetstream.StreamInfo) error {
	if !meta.ShouldOnlyObserve(mg) || !meta.ShouldAdopt(mg) {
		return nil
	}

	if err := c.kind.report(mg, info); err != nil {
		return err
	}

	*c.kind.recorded(mg) = ""

	mg.SetConditions(readiness(info))

	return nil
}

func (c *Client) compare(mg resource.Managed, info *jetstream.StreamInfo, out managed.ExternalObservation) (managed.ExternalObservation, error) {
	desired, err := c.desired(mg, info.Config)
	if err != nil {
		return managed.ExternalObservation{}, err
	}

	diff, err := jsconfig.Diff(&desired, &info.Config)
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrapf(err, "cannot compare stream %q", info.Config.Name)
	}

	out.ResourceUpToDate, out.Diff = len(diff) == 0, diff.String()

	return out, nil
}

// Create creates the stream. It is sealed, if at all, by the first Update: NATS
// creates no sealed ones.
func (c *Client) Create(ctx context.Context, mg resource.Managed) error {
	name, err := c.name(mg)
	if err != nil {
		return err
	}

	mg.SetConditions(commonv1.Creating())

	cfg, err := c.desired(mg, jetstream.StreamConfig{Name: name})
	if err != nil {
		return err
	}

	cfg.Sealed = false

	return classify(c.streams.Create(ctx, cfg), "create", name)
}

// Update corrects the stream. What NATS does not change is refused without
// asking, because its answer does not tell it from other mistakes.
func (c *Client) Update(ctx context.Context, mg resource.Managed) error {
	name, err := c.name(mg)
	if err != nil {
		return err
	}

	info, err := c.own(ctx, mg, name)
	if err != nil {
		return err
	}

	desired, err := c.desired(mg, info.Config)
	if err != nil {
		return err
	}

	if refused := jsconfig.Refused(&info.Config, &desired); len(refused) > 0 {
		return c.immutable(name, refused[0])
	}

	return classify(c.streams.Update(ctx, desired), "update", name)
}

// Delete deletes the stream and everything in it.
func (c *Client) Delete(ctx context.Context, mg resource.Managed) error {
	name, err := c.name(mg)
	if err != nil {
		return err
	}

	mg.SetConditions(commonv1.Deleting())

	_, err = c.own(ctx, mg, name)
	if err == nil {
		err = errors.Wrapf(c.streams.Delete(ctx, name), "cannot delete stream %q", name)
	}

	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}

	return err
}

// name returns the name of the stream.
func (c *Client) name(mg resource.Managed) (string, error) {
	name, err := c.kind.stream(meta.GetExternalName(mg))
	if err != nil {
		return "", external.Terminal("InvalidName", err)
	}

	return name, nil
}

// owner says whose a stream is. Its mark tells; but whoever updates a stream and
// does not know of metadata takes the mark off, and then the time of its creation
// tells, if a pass that found the mark has recorded it. Only such a pass records
// it, so it is never that of a stranger's stream.
func (c *Client) owner(mg resource.Managed, info *jetstream.StreamInfo) managed.Owner {
	mark, recorded := info.Config.Metadata[managed.StampKey], *c.kind.recorded(mg)

	switch {
	case mark != "":
		return c.stamp.Owner(mark)
	case recorded == "":
		return managed.OwnerNobody
	case recorded == created(info):
		return managed.OwnerOurs
	case meta.GetExternalCreateSucceeded(mg).IsZero(), meta.ShouldAdopt(mg):
		return managed.OwnerNobody
	default:
		// What this object once adopted was another stream: that this one is
		// nobody's does not make it ours.
		return managed.OwnerOther
	}
}

// forget drops the proof that a stream was ours when it bears another's mark: it
// stays his if that mark is lost, too.
func (c *Client) forget(mg resource.Managed, info *jetstream.StreamInfo) {
	if info.Config.Metadata[managed.StampKey] != "" {
		*c.kind.recorded(mg) = ""
	}
}

func (c *Client) desired(mg resource.Managed, base jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	cfg, err := c.kind.overlay(mg, base, map[string]string{managed.StampKey: string(c.stamp)})
	if err != nil {
		return jetstream.StreamConfig{}, external.Terminal("InvalidConfiguration", errors.Wrap(err, "spec.forProvider cannot be used"))
	}

	return cfg, nil
}

// own reads the stream once more and fails if it has become somebody else's. One
// that is nobody's must be the one that the reconciler decided upon.
func (c *Client) own(ctx context.Context, mg resource.Managed, name string) (*jetstream.StreamInfo, error) {
	info, err := c.streams.Info(ctx, name)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot see who owns stream %q", name)
	}

	switch owner := c.owner(mg, info); {
	case owner == managed.OwnerOurs:
		return info, nil
	case owner == managed.OwnerOther:
		return nil, errors.Errorf("stream %q has just become the property of somebody else: it is left alone", name)
	case c.seen != created(info):
		return nil, errors.Errorf("stream %q has just been made anew by somebody else: it is left alone", name)
	default:
		return info, nil
	}
}

func (c *Client) immutable(name string, r jsconfig.Refusal) error {
	return external.Terminal("ImmutableField", errors.Errorf(
		"spec.forProvider of stream %q: %s; set it back, or, if what is in the %s may be lost, delete this object and create it again",
		name, r, c.kind.noun))
}

// readiness tells whether clients can use the stream: whether it has a leader.
func readiness(info *jetstream.StreamInfo) commonv1.Condition {
	if info.Cluster == nil || info.Cluster.Leader != "" {
		return commonv1.Available()
	}

	return commonv1.Unavailable().WithMessage("the stream has no leader: too few of its servers are up")
}
