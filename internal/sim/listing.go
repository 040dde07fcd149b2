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

// A listing has the calls of a client that can list.
type listing struct {
	*calls
	managed.ConnectionDescriber

	alone  managed.ExternalClient // its other methods
	lister managed.ExternalLister
}

// Unwrap returns the client with its other methods.
func (l *listing) Unwrap() any { return l.alone }

// A seen is a listed resource with the number of its observation in the list.
type seen struct {
	observation int
	resource    any
}

// ListPage requests a page of the list, as an operation at which faults are injected. It reports a violation if the
// request changes the external system.
func (l *listing) ListPage(ctx context.Context, token string) (managed.ExternalListPage, error) {
	var page managed.ExternalListPage
	err := l.seam.step(ctx, Operation{Name: "List"}, func(ctx context.Context) (err error) {
		w := l.seam.process.world
		before := w.external.Changes()
		page, err = l.lister.ListPage(ctx, token)
		if w.external.Changes() != before {
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

// ObserveListed observes a resource as it was listed. It makes no request, so no fault is injected.
func (l *listing) ObserveListed(ctx context.Context, mg resource.Managed, listed any) (managed.ExternalObservation,
	error) {
	s, ok := listed.(seen)
	if !ok {
		return managed.ExternalObservation{}, errors.Errorf("%T was never listed", listed)
	}
	o, err := l.lister.ObserveListed(ctx, mg, s.resource)
	if p := l.seam.process; err == nil {
		p.world.work.listed++
		p.observed.order[mg.GetUID()] = max(s.observation, p.observed.order[mg.GetUID()])
		p.observed.generation[mg.GetUID()] = max(mg.GetGeneration(), p.observed.generation[mg.GetUID()])
	}

	return o, err
}

// A listingClient is a client that can also list resources.
type listingClient struct {
	managed.ExternalClient

	system *extSystem
}

// DescribeConnection returns the only connection.
func (c *listingClient) DescribeConnection() managed.Connection {
	return managed.Connection{Name: "ProviderConfig/default/main"}
}

const resourcesOnPage = 2

// ListPage returns a page. Pages are counted again for each request, so a resource is skipped if an earlier one was
// deleted meanwhile.
func (c *listingClient) ListPage(ctx context.Context, token string) (managed.ExternalListPage, error) {
	from := 0
	if token != "" {
		var err error
		if from, err = strconv.Atoi(token); err != nil {
			return managed.ExternalListPage{}, errors.Wrap(err, "cannot read the token of a page")
		}
	}
	page := managed.ExternalListPage{}
	at := 0
	for _, p := range c.system.resources {
		if p.Backend != c.system.backend || c.system.gone(p) || !c.system.visible(p) {
			continue
		}
		if at++; at <= from {
			continue
		}
		if len(page.Items) == resourcesOnPage {
			page.Continue = fmt.Sprint(from + resourcesOnPage)

			break
		}
		page.Items = append(page.Items, managed.ListedResource{ExternalName: p.ID, Resource: *p})
	}

	return page, ctx.Err()
}

// ObserveListed observes a resource as it was listed.
func (c *listingClient) ObserveListed(_ context.Context, mg resource.Managed, listed any) (managed.ExternalObservation,
	error) {
	p, ok := listed.(extResource)
	if !ok {
		return managed.ExternalObservation{}, errors.Errorf("%T is no listed resource", listed)
	}
	if c.system.partial && mg.GetName() == incompleteItem {
		return managed.ExternalObservation{}, errors.New("the item of the list is incomplete")
	}

	return c.system.observeListed(mg, &p)
}

// The objects whose items of a list cannot be used.
const incompleteItem, unreadyItem = "first", "second"

// listScenarios are the scenarios in which objects of one connection share lists. Absence from a list proves nothing.
// In the second one, a list has items that cannot be used: their objects are observed alone.
var listScenarios = []scenario{{
	name: "listed", lag: 5 * time.Millisecond, singleFaults: true, only: []string{"named", "opaque"}, run: listScenario,
	system: func(h *extSystem) { h.lists = true }, config: sharesLists,
}, {
	name: "listed-partial", lag: 5 * time.Millisecond, singleFaults: true, only: []string{"named", "opaque"},
	run: listScenario, system: func(h *extSystem) { h.lists, h.partial = true, true }, config: sharesLists,
}}

// sharesLists sets that objects share lists.
func sharesLists(w *World) {
	w.config.Options = append(w.config.Options, managed.WithBulkObservation(pollInterval/2))
}

func listScenario(w *World) {
	keys := objectKeys(3)
	for _, key := range keys {
		w.users.create(newBucket(key.Name))
	}
	w.settle()
	w.run(w.now().Add(2 * pollInterval))
	w.settle()
	w.quiet()
	if w.fired == 0 && w.work.listed == 0 {
		w.violate("L4", "no object is observed by a list")
	}
	w.users.drift()
	w.run(w.now().Add(2 * pollInterval))
	w.users.delete(keys[0])
	w.settle()
	w.users.change(keys[1], resize(5))
	w.settle()
	w.quiet()
}
