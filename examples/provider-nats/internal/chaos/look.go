package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// look reads the state of both servers, and judges it. When everything is as desired it describes the
// state, and records the creation times.
func (w *world) look(ctx context.Context) (verdict, string, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()

	panics, err := w.fleet.broken()
	if err != nil {
		return nil, "", err
	}

	var p picture

	if p.objects, err = w.objects(ctx); err != nil {
		return nil, "", err
	}

	if p.assets, err = w.assets(ctx); err != nil {
		return nil, "", err
	}

	v := judge(p, w.foreign, w.born)
	for _, words := range panics {
		v.find(panicked, "the output of the provider:\n%s", words)
	}

	if v.held() {
		w.born = p.births()
	}

	return v, fmt.Sprintf("%d objects, %d streams and consumers in NATS, %d of them foreign",
		len(p.objects), len(p.assets), len(w.foreign)), nil
}

// lookForNothing is look when no object may be left.
func (w *world) lookForNothing(ctx context.Context) (verdict, string, error) {
	v, text, err := w.look(ctx)
	if err != nil {
		return nil, "", err
	}

	left, err := w.objects(ctx)
	for _, o := range left {
		if !o.deleted {
			v.find(stuck, "%s exists, although all objects were deleted", o.label)
		}
	}

	return v, text, err
}

// Names of settings in this package.
const (
	description       = "description"
	subjects          = "subjects"
	maxMsgs           = "maxMsgs"
	maxMsgsPerSubject = "maxMsgsPerSubject"
	maxAge            = "maxAge"
	maxDeliver        = "maxDeliver"
)

// assets returns all streams and consumers in NATS.
func (w *world) assets(ctx context.Context) (map[key]asset, error) {
	out := map[key]asset{}

	streams := w.js.ListStreams(ctx)
	for info := range streams.Info() {
		c := info.Config
		settings := map[string]string{
			description: c.Description, subjects: strings.Join(slices.Sorted(slices.Values(c.Subjects)), " "),
			maxMsgs: fmt.Sprint(c.MaxMsgs), maxMsgsPerSubject: fmt.Sprint(c.MaxMsgsPerSubject), maxAge: c.MaxAge.String(),
		}
		out[key{stream: c.Name}] = newAsset(c.Metadata,
			asset{Created: info.Created, Messages: info.State.Msgs, Settings: settings})

		if info.State.Consumers > 0 {
			if err := w.consumers(ctx, c.Name, out); err != nil {
				return nil, err
			}
		}
	}

	return out, errors.Wrap(streams.Err(), "cannot list the streams of NATS")
}

func (w *world) consumers(ctx context.Context, stream string, out map[key]asset) error {
	s, err := w.js.Stream(ctx, stream)
	if err != nil {
		return errors.Wrapf(err, "cannot see stream %s", stream)
	}

	consumers := s.ListConsumers(ctx)
	for info := range consumers.Info() {
		c := info.Config
		out[key{stream, info.Name}] = newAsset(c.Metadata, asset{Created: info.Created, Settings: map[string]string{
			description: c.Description, maxDeliver: fmt.Sprint(c.MaxDeliver),
		}})
	}

	return errors.Wrapf(consumers.Err(), "cannot list the consumers of stream %s", stream)
}

// newAsset reads the stamp, whose last part identifies the object.
func newAsset(metadata map[string]string, a asset) asset {
	a.Stamp = metadata[managed.StampKey]
	a.UID = types.UID(a.Stamp[strings.LastIndexByte(a.Stamp, '/')+1:])

	return a
}
