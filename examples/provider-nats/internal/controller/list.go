package controller

import (
	"context"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Lister is a JetStream that can list streams, and notify of their changes. A natsconn.Conn is one.
type Lister interface {
	List(ctx context.Context, subject string, offset int) (page []*jetstream.StreamInfo, total int, err error)
	Watch(ctx context.Context, to natsconn.Watcher) (stop func(), err error)
}

// ListPage returns a page of streams. Its token is the number of streams on the pages before.
func (c *Client) ListPage(ctx context.Context, token string) (managed.ExternalListPage, error) {
	lister, ok := c.nats.JetStream.(Lister)
	if !ok || c.kind.external == nil {
		return managed.ExternalListPage{}, errors.Errorf("nothing lists objects of the kind %s", c.kind.name)
	}

	offset := 0
	if token != "" {
		var err error
		if offset, err = strconv.Atoi(token); err != nil {
			return managed.ExternalListPage{}, errors.Wrapf(err, "cannot go on with a list after %q", token)
		}
	}

	infos, total, err := lister.List(ctx, c.kind.subjects, offset)
	if err != nil {
		return managed.ExternalListPage{}, errors.Wrap(err, "cannot list streams")
	}

	var page managed.ExternalListPage

	for _, info := range infos {
		if name, ok := c.kind.external(info.Config.Name); ok {
			page.Items = append(page.Items, managed.ListedResource{ExternalName: name, Resource: info})
		}
	}

	// An empty page is the end, whatever the total says: streams come and go.
	if next := offset + len(infos); len(infos) > 0 && next < total {
		page.Continue = strconv.Itoa(next)
	}

	return page, nil
}

// ObserveListed is Observe of an item of a list.
func (c *Client) ObserveListed(
	_ context.Context, mg resource.Managed, listed any,
) (managed.ExternalObservation, error) {
	t, err := c.kind.target(c.nats, mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}

	info, ok := listed.(*jetstream.StreamInfo)
	if !ok || t.listed == nil {
		return managed.ExternalObservation{}, errors.Errorf("a %T is no list item of %s", listed, t.label)
	}

	return c.observe(mg, t, t.listed(info))
}

// Subscribe notifies of the streams of the kind that have changed, on the connection that mg names. It
// holds the connection until it is stopped.
func (c *Connecter) Subscribe(
	ctx context.Context, mg resource.Managed, to managed.ExternalNotifications,
) (stop func(), err error) {
	link, err := c.connections.Acquire(ctx, mg)
	if err != nil {
		return nil, err
	}

	lister, ok := link.JetStream.(Lister)
	if !ok {
		link.Release()

		return nil, errors.Errorf("a %T does not notify of changes", link.JetStream)
	}

	end, err := lister.Watch(ctx, notifier{to, c.kind})
	if err != nil {
		link.Release()

		return nil, err
	}

	return func() { end(); link.Release() }, nil
}

// A notifier passes on changes of streams under the external names of a kind.
type notifier struct {
	managed.ExternalNotifications

	kind Kind
}

// Changed notifies of a changed stream, if it is of the kind.
func (n notifier) Changed(stream string) {
	if name, ok := n.kind.external(stream); ok {
		n.ExternalNotifications.Changed(name)
	}
}
