package sim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Listing are calls of a client that can list.
type listing struct {
	*calls
	managed.ConnectionDescriber

	alone  managed.ExternalClient // what else it can do
	lister managed.ExternalLister
}

// Unwrap returns the client with its other methods.
func (l *listing) Unwrap() any { return l.alone }

// Seen is what a list has shown at the time of an observation.
type seen struct {
	observation int
	resource    any
}

// ListPage asks for a page.
func (l *listing) ListPage(ctx context.Context, token string) (managed.ExternalListPage, error) {
	var page managed.ExternalListPage
	err := l.seam.step(ctx, operation{name: "List"}, func(ctx context.Context) (err error) {
		w := l.seam.process.world
		before := w.outside.Changes()
		page, err = l.lister.ListPage(ctx, token)
		if w.outside.Changes() != before {
			w.violate("S18", "the external system was changed by a list")
		}
		w.observations++
		for i := range page.Items {
			page.Items[i].Resource = seen{w.observations, page.Items[i].Resource}
		}

		return err
	})
	if err != nil {
		return managed.ExternalListPage{}, err
	}

	return page, nil
}

// ObserveListed asks nobody.
func (l *listing) ObserveListed(ctx context.Context, mg resource.Managed, listed any) (managed.ExternalObservation, error) {
	s, ok := listed.(seen)
	if !ok {
		return managed.ExternalObservation{}, errors.Errorf("%T was never listed", listed)
	}
	o, err := l.lister.ObserveListed(ctx, mg, s.resource)
	if p := l.seam.process; err == nil {
		p.world.listed++
		p.looked[mg.GetUID()] = max(s.observation, p.looked[mg.GetUID()])
		p.observed[mg.GetUID()] = max(mg.GetGeneration(), p.observed[mg.GetUID()])
	}

	return o, err
}

// A registrar can tell of several places at a time. Of one, a client does.
type registrar struct {
	managed.ExternalClient

	harbour *harbour
}

// DescribeConnection says that there is one connection.
func (c *registrar) DescribeConnection() managed.Connection {
	return managed.Connection{Name: "Harbour/default/north"}
}

const placesOnPage = 2

// ListPage shows some places. Which of them are on a page is counted anew each time, so
// that what comes after one that has gone meanwhile is passed over.
func (c *registrar) ListPage(ctx context.Context, token string) (managed.ExternalListPage, error) {
	from := 0
	if token != "" {
		var err error
		if from, err = strconv.Atoi(token); err != nil {
			return managed.ExternalListPage{}, errors.Wrap(err, "cannot read the token of a page")
		}
	}
	page := managed.ExternalListPage{}
	at := 0
	for _, p := range c.harbour.places {
		if p.System != c.harbour.system || c.harbour.gone(p) || !c.harbour.visible(p) {
			continue
		}
		if at++; at <= from {
			continue
		}
		if len(page.Items) == placesOnPage {
			page.Continue = fmt.Sprint(from + placesOnPage)

			break
		}
		page.Items = append(page.Items, managed.ListedResource{ExternalName: p.ID, Resource: *p})
	}

	return page, ctx.Err()
}

// ObserveListed is Observe of a place as it was.
func (c *registrar) ObserveListed(_ context.Context, mg resource.Managed, listed any) (managed.ExternalObservation, error) {
	p, ok := listed.(place)
	if !ok {
		return managed.ExternalObservation{}, errors.Errorf("%T is no place", listed)
	}

	return c.harbour.tell(mg, &p)
}

// Rolls: objects of one connection are looked at by lists that they share, which say
// nothing of what they do not show.
var rolls = []scenario{{
	name: "listed", lag: 5 * time.Millisecond, single: true, only: []string{"named", "opaque"}, live: list,
	harbor: func(h *harbour) { h.lists = true },
	config: func(w *World) {
		w.config.Options = append(w.config.Options, managed.WithBulkObservation(pollInterval/2))
	},
}}

func list(w *World) {
	keys := crowd(3)
	for _, key := range keys {
		w.users.create(newBerth(key.Name))
	}
	w.settle()
	w.run(w.now().Add(2 * pollInterval))
	w.settle()
	w.quiet()
	if w.fired == 0 && w.listed == 0 {
		w.violate("L4", "nobody is looked at by a list")
	}
	w.users.drift()
	w.run(w.now().Add(2 * pollInterval))
	w.users.delete(keys[0])
	w.settle()
	w.users.change(keys[1], lengthen(5))
	w.settle()
	w.quiet()
}
