package controller

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A streamKind describes a kind whose objects are streams.
type streamKind[T resource.Managed] struct {
	name, loss string
	user       providerconfig.User

	// stream returns the name of the stream of an external name, or an error that says what to do if NATS
	// cannot have a stream of that name.
	stream func(externalName string) (string, error)

	// external returns the external name that belongs to the name of a stream, or false if the stream is not
	// of the kind.
	external func(stream string) (string, bool)

	// subjects are those of which every stream of the kind stores some. Empty
	// means nothing is known of them.
	subjects string

	// overlay returns base with the settings of the object applied.
	overlay func(cr T, base jetstream.StreamConfig, own map[string]string) (jetstream.StreamConfig, error)

	// fields has the fields of the kind by the fields of a stream, for those that have other names.
	fields map[string]string

	// report writes the observation into the object's status.
	report func(cr T, info *jetstream.StreamInfo)

	// recorded points to the creation time of the stream in the object's status.
	recorded func(cr T) *string

	// details are the connection details.
	details func(cr T, info *jetstream.StreamInfo) map[string]string
}

func (k streamKind[T]) kind() Kind {
	return Kind{
		name: k.name, user: k.user, loss: k.loss, external: k.external, subjects: k.subjects,
		target: func(nats JetStream, mg resource.Managed) (target, error) {
			cr, ok := mg.(T)
			if !ok {
				return target{}, errOtherKind(mg)
			}

			name, err := k.stream(meta.GetExternalName(mg))
			if err != nil {
				return target{}, external.Terminal(reasonInvalidName, err)
			}

			asset := &streamAsset[T]{nats: nats, kind: k, cr: cr, name: name}

			return target{
				asset:    asset,
				label:    `stream "` + name + `"`,
				recorded: k.recorded(cr),
				listed:   asset.sight,
			}, nil
		},
	}
}

// A streamAsset is the stream of one object.
type streamAsset[T resource.Managed] struct {
	nats Streams
	kind streamKind[T]
	cr   T
	name string
}

func (a *streamAsset[T]) look(ctx context.Context) (*sight, error) {
	info, err := a.nats.Info(ctx, a.name)

	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}

	return a.sight(info), nil
}

func (a *streamAsset[T]) sight(info *jetstream.StreamInfo) *sight {
	return &sight{
		metadata: info.Config.Metadata,
		created:  info.Created,
		cluster:  info.Cluster,
		report:   func() { a.kind.report(a.cr, info) },
		details:  func() map[string]string { return a.kind.details(a.cr, info) },
		plan:     func(own map[string]string) (*plan, error) { return a.plan(&info.Config, own) },
	}
}

func (a *streamAsset[T]) plan(observed *jetstream.StreamConfig, own map[string]string) (*plan, error) {
	desired, err := a.desired(*observed, own)
	if err != nil {
		return nil, err
	}

	return &plan{
		diff: func() (jsconfig.Differences, error) {
			diff, err := jsconfig.Diff(&desired, observed)

			return diff.Renamed(a.kind.fields), err
		},
		refused: func() []jsconfig.Refusal { return jsconfig.Refused(observed, &desired) },
		send:    func(ctx context.Context) error { return a.nats.Update(ctx, desired) },
	}, nil
}

func (a *streamAsset[T]) desired(base jetstream.StreamConfig, own map[string]string) (jetstream.StreamConfig, error) {
	cfg, err := a.kind.overlay(a.cr, base, own)

	return cfg, errInvalid(errors.Wrap(err, "spec.forProvider cannot be used"))
}

// create leaves it to the first update to seal a stream: NATS does not create sealed ones.
func (a *streamAsset[T]) create(ctx context.Context, own map[string]string) error {
	cfg, err := a.desired(jetstream.StreamConfig{Name: a.name}, own)
	if err != nil {
		return err
	}

	cfg.Sealed = false

	return a.nats.Create(ctx, cfg)
}

func (a *streamAsset[T]) remove(ctx context.Context) error {
	err := a.nats.Delete(ctx, a.name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}

	return err
}
