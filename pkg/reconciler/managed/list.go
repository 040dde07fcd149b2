package managed

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An ExternalLister is an [ExternalClient] that can list, see [TypedExternalLister].
type ExternalLister = TypedExternalLister[resource.Managed]

// A TypedExternalLister is a [TypedExternalClient] that can list the resources of its connection. With
// [WithBulkObservation], objects that only need to be observed are observed from one list.
//
// The reconciler trusts that a listed resource exists. It does not trust that a resource missing from the list does not
// exist. It observes an object alone if its resource is missing from the list, differs, belongs to another owner or is
// incomplete. An interrupted list, or a list with missing, repeated or unrelated items, costs additional calls but
// causes no wrong decision.
type TypedExternalLister[T resource.Managed] interface {
	// ListPage returns the page of a continue token. The empty token means the first page. The reconciler calls ListPage
	// page by page through the client of the first object that is due. The result serves all objects of the kind on the
	// same connection.
	//
	// An error ends the list, and all objects are observed alone until the next list is due. There is one exception. With
	// [WithLimits], a list continues later after an error of the whole connection, such as external.Throttled.
	ListPage(ctx context.Context, token string) (ExternalListPage, error)

	// ObserveListed returns the observation of mg from one listed item. It must not call the external system. It may
	// change mg as Observe may.
	ObserveListed(ctx context.Context, mg T, listed any) (ExternalObservation, error)
}

// An ExternalListPage is a part of a list.
type ExternalListPage struct {
	// Items are the resources of the page, in any order. Items without an object are ignored.
	Items []ListedResource

	// Continue is the token of the next page. It is empty on the last page.
	Continue string
}

// A ListedResource is an external resource in a list.
type ListedResource struct {
	// ExternalName is the external name of the resource. It associates the resource with an object.
	ExternalName string

	// Resource is passed to ObserveListed as it is.
	Resource any
}

// WithBulkObservation lets polls of objects on the same connection share a list, if the client is an [ExternalLister].
// By default each object is observed alone.
//
// Once per poll interval the objects of a connection are due at about the same time. The first of them makes the list.
// The list serves the others until it is older than staleness. Staleness is at most the poll interval. A value that is
// not positive means half of the poll interval.
//
// The list does not serve an object whose user waits, or that is being created, changed or deleted. It also does not
// serve an object whose resource this process has changed since the list began. A worker makes the list for at most a
// second at a time. Meanwhile other objects wait in the queue, without a worker. The reconciler makes no list that
// would have more pages than there are objects to serve.
//
// Two clients are on the same connection if a [ConnectionDescriber] says so, or if their objects refer to the same
// ProviderConfig.
func WithBulkObservation(staleness time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.bulk, r.staleness = true, staleness }
}

// newListCache returns the list cache that objects on one connection share, or nil if there are neither lists nor
// notifications.
func (r *Reconciler) newListCache() *listcache.Cache {
	if !r.bulk && r.notifier == nil {
		return nil
	}
	round := r.pollInterval
	switch {
	case !r.bulk:
		round = 0
	case r.planner != nil:
		return listcache.New(planRound, planRound, r.createdAt)
	}

	return listcache.New(round, min(positive(r.staleness, r.pollInterval/2), r.pollInterval), r.createdAt)
}

// The longest time that a pass spends on a list, page by page.
const listTurn = time.Second

// joinList registers the object with the list cache of its connection.
func (p *clientSession) joinList(connection, revision string) {
	if p.r.lists != nil {
		if p.state.member == nil {
			p.state.member = listcache.NewMember(listcache.Key{Namespace: p.mg.GetNamespace(), Name: p.mg.GetName()})
		}
		p.member = p.state.member
		p.r.lists.Join(p.member, connection, revision, meta.GetExternalName(p.mg))
	}
}

// markTouched records that the external resource was observed, or may have been changed.
func (p *clientSession) markTouched() {
	if p.member != nil {
		p.r.lists.Touched(p.member, p.now())
	}
}

// listEligible reports whether a list can serve this pass: no user waits for it, and the object is healthy.
func (p *clientSession) listEligible() bool {
	if p.lister == nil || !p.healthy || p.priority != lifecycle.Poll || p.observedOnce || p.mutated ||
		meta.WasDeleted(p.mg) {
		return false
	}
	alone := p.member.Alone
	p.member.Alone = false
	p.trackCreation()

	return !alone && p.creationGrace() == 0 && !p.createdUnobserved() && !p.unresolved() &&
		!p.r.lists.Notified(p.member)
}

// list reads pages for as long as this pass may. The pass fails if the whole connection fails, but not after any
// other failure of the list. If the list is not complete afterwards, the next pass continues.
func (p *clientSession) list(ctx context.Context, turn *listcache.Listing) error {
	finished := false
	defer func() {
		if turn.Return(); !finished {
			turn.Fail(p.now())
		}
	}()
	begun := p.now()
	for {
		more, err := p.nextPage(ctx, turn)
		switch {
		case err != nil && p.gate != nil && classify(err).shared:
			finished = true // the next pass with a token continues

			return observing.failed(err)
		case err != nil:
			p.log().Info("Cannot list, observing one by one", "connection", p.connection.Name, "error", p.redact(err))

			p.unlisted = listing

			return nil
		case !more:
			finished = true

			return nil
		case p.now().Sub(begun) >= listTurn:
			finished = true

			p.unlisted = listing

			return nil
		}
	}
}

// nextPage reads the next page, adds its items to the list, and reports whether there are more.
func (p *clientSession) nextPage(ctx context.Context, turn *listcache.Listing) (more bool, err error) {
	page, err := p.page(ctx, turn.Next)
	if err != nil {
		return false, err
	}
	for _, item := range page.Items {
		turn.Add(item.ExternalName, item.Resource)
	}
	more, ok := turn.Advance(page.Continue, p.now())
	if !ok {
		return false, errors.New("it does not end")
	}

	return more, nil
}

// page calls ListPage with a token of the rate limiter.
func (p *clientSession) page(ctx context.Context, token string) (page ExternalListPage, err error) {
	release, err := p.waitForPermit(ctx, false)
	if err != nil {
		return page, err
	}
	ctx, cancel := withDeadline(ctx, callDeadline(ctx))
	defer cancel()
	err = p.call(release, func() error {
		return p.instrument(ctx, telemetry.List, func(ctx context.Context) (err error) {
			page, err = p.lister.ListPage(ctx, token)

			return err
		})
	})

	return page, err
}
