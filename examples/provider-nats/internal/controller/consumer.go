package controller

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ConsumerKind returns the kind Consumer.
func ConsumerKind() Kind {
	return Kind{
		name: v1alpha1.ConsumerKind, user: &v1alpha1.Consumer{}, loss: "the position of the consumer",
		target: func(nats JetStream, mg resource.Managed) (target, error) {
			cr, ok := mg.(*v1alpha1.Consumer)
			if !ok {
				return target{}, errOtherKind(mg)
			}

			stream, err := streamOf(cr)
			if err != nil {
				return target{}, err
			}

			name := meta.GetExternalName(cr)
			out := target{label: `consumer "` + name + `" of stream "` + stream + `"`, recorded: &cr.Status.AtProvider.Created}

			if stream == "" && meta.WasDeleted(cr) {
				out.asset = nowhere{}

				return out, nil
			}

			if err := checkConsumer(stream, name); err != nil {
				return target{}, external.Terminal(reasonInvalidName, err)
			}

			out.asset = &consumerAsset{nats: nats, cr: cr, stream: stream, name: name}

			return out, nil
		},
	}
}

// streamOf returns the stream of a consumer. A consumer that exists stays with the stream for which it was
// created, whatever the spec says later: only there it can be deleted.
func streamOf(cr *v1alpha1.Consumer) (string, error) {
	asked, recorded := "", cr.Status.AtProvider
	if cr.Spec.ForProvider.Stream != nil {
		asked = *cr.Spec.ForProvider.Stream
	}

	switch {
	case recorded.Created == "" || recorded.Stream == "" || recorded.Stream == asked:
		return asked, nil
	case meta.WasDeleted(cr):
		return recorded.Stream, nil
	default:
		return "", external.Terminal(reasonImmutableField,
			errors.Errorf("spec.forProvider.stream: the consumer was created for the stream %q and cannot "+
				"become one of %q: set it back, or, if the position of the consumer may be lost, "+
				"delete this object and create it again", recorded.Stream, asked))
	}
}

func checkConsumer(stream, name string) error {
	if err := jsconfig.CheckStreamName(stream); err != nil {
		return errors.Errorf("spec.forProvider.stream: %q cannot be the name of a stream", stream)
	}

	return jsconfig.CheckConsumerName(name)
}

// A nowhere is the consumer of an object that was deleted before its stream was known. It does not exist.
type nowhere struct{}

func (nowhere) look(context.Context) (*sight, error) { return nil, nil }

func (nowhere) create(context.Context, map[string]string) error { return nil }

func (nowhere) remove(context.Context) error { return nil }

// A consumerAsset is the consumer of one object.
type consumerAsset struct {
	nats         Consumers
	cr           *v1alpha1.Consumer
	stream, name string
}

func (a *consumerAsset) look(ctx context.Context) (*sight, error) {
	info, err := a.nats.ConsumerInfo(ctx, a.stream, a.name)

	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}

	return &sight{
		metadata: info.Config.Metadata,
		created:  info.Created,
		cluster:  info.Cluster,
		report:   func() { a.cr.Status.AtProvider = observedConsumer(a.stream, info) },
		details:  func() map[string]string { return a.details(&info.Config) },
		plan:     func(own map[string]string) (*plan, error) { return a.plan(&info.Config, own) },
	}, nil
}

func (a *consumerAsset) plan(observed *jetstream.ConsumerConfig, own map[string]string) (*plan, error) {
	desired, err := a.desired(*observed, own)
	if err != nil {
		return nil, err
	}

	return &plan{
		diff:    func() (jsconfig.Differences, error) { return jsconfig.ConsumerDiff(&desired, observed) },
		refused: func() []jsconfig.Refusal { return jsconfig.ConsumerRefused(observed, &desired) },
		send:    func(ctx context.Context) error { return a.send(ctx, observed, desired) },
	}, nil
}

// send changes the pause separately, because an update does not change it. It sends one request, as every
// pass does: the pause still differs after an update, and is left to the next pass.
func (a *consumerAsset) send(
	ctx context.Context, observed *jetstream.ConsumerConfig, desired jetstream.ConsumerConfig,
) error {
	rest := desired
	rest.PauseUntil = observed.PauseUntil

	diff, err := jsconfig.ConsumerDiff(&rest, observed)
	if err != nil {
		return err
	}

	if len(diff) > 0 {
		return a.nats.UpdateConsumer(ctx, a.stream, desired)
	}

	until := a.cr.Spec.ForProvider.PauseUntil
	if until == nil || observed.PauseUntil != nil && observed.PauseUntil.Equal(until.Time.Time) {
		return nil
	}

	return a.nats.PauseConsumer(ctx, a.stream, a.name, until.UTC())
}

func (a *consumerAsset) desired(
	base jetstream.ConsumerConfig, own map[string]string,
) (jetstream.ConsumerConfig, error) {
	base.Name = a.name
	cfg, err := jsconfig.Consumer(base, &a.cr.Spec.ForProvider, own)

	return cfg, errInvalid(errors.Wrap(err, "spec.forProvider cannot be used"))
}

func (a *consumerAsset) create(ctx context.Context, own map[string]string) error {
	cfg, err := a.desired(jetstream.ConsumerConfig{}, own)
	if err != nil {
		return err
	}

	return a.nats.CreateConsumer(ctx, a.stream, cfg)
}

func (a *consumerAsset) remove(ctx context.Context) error {
	err := a.nats.DeleteConsumer(ctx, a.stream, a.name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}

	return err
}

func (a *consumerAsset) details(cfg *jetstream.ConsumerConfig) map[string]string {
	return map[string]string{
		detailStream: a.stream, detailConsumer: a.name, detailDeliver: cfg.DeliverSubject,
		detailDeliverGroup: cfg.DeliverGroup,
	}
}

func observedConsumer(stream string, info *jetstream.ConsumerInfo) v1alpha1.ConsumerObservation {
	return v1alpha1.ConsumerObservation{
		Stream:        stream,
		Config:        jsconfig.ConsumerParameters(&info.Config),
		Created:       when(info.Created),
		DeliveredSeq:  counter(info.Delivered.Stream),
		AckFloorSeq:   counter(info.AckFloor.Stream),
		Pending:       counter(info.NumPending),
		AckPending:    int64(info.NumAckPending),
		Redelivered:   int64(info.NumRedelivered),
		Waiting:       int64(info.NumWaiting),
		Bound:         info.PushBound,
		Paused:        info.Paused,
		Cluster:       observedCluster(info.Cluster),
		ServerVersion: jsconfig.ServerVersion(info.Config.Metadata),
	}
}
