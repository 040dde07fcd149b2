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

// A TypedExternalLister is a [TypedExternalClient] that can list what exists on its
// connection. With [WithBulkObservation], objects that need no more than a look share
// such a list.
//
// A list is believed in what it shows, never in what it does not: who is missing is
// looked at by Observe before anything is decided, and so is whoever is shown to
// differ, to be somebody else's, or to lack anything, before anything is changed. So
// a list that leaves something out, shows it twice, shows what is nobody's, or breaks
// off, costs calls and nothing else.
type TypedExternalLister[T resource.Managed] interface {
	// ListPage returns the page that begins where an earlier one said; an empty
	// token is the beginning. It is called through the client of whichever object
	// comes first, on behalf of all objects of the kind on its connection, one page
	// at a time. An error ends the list, until the next one is due everybody is
	// observed singly; but for one that says that the connection does not work at
	// the moment, such as external.Throttled, if there are limits.
	ListPage(ctx context.Context, token string) (ExternalListPage, error)

	// ObserveListed is Observe of what a page has shown under the external name of
	// the object. It is to ask nobody, and may do to the object what Observe may.
	ObserveListed(ctx context.Context, mg T, listed any) (ExternalObservation, error)
}

// An ExternalListPage is a part of a list.
type ExternalListPage struct {
	// Items in any order. Those that no object has are ignored.
	Items []ListedResource

	// Continue is the token of the next page. It is empty on the last one.
	Continue string
}

// A ListedResource is an external resource that a list has shown.
type ListedResource struct {
	// ExternalName is what objects have as their external name.
	ExternalName string

	// Resource is given to ObserveListed as it is.
	Resource any
}

// WithBulkObservation lets polls of objects on the same connection share a list, if
// clients are an [ExternalLister]. The default is that each is observed singly.
//
// Once in a poll interval the objects of a connection are due at about the same time;
// the first of them makes the list, and what it showed serves the others until it is
// older than staleness; what is not positive is half of the poll interval, and the poll
// interval is the most. What a user waits
// for, what is being made, changed or deleted, and what this process has changed since
// the list was begun is not served by it. A worker makes the list for at most a second
// at a time; others wait for it outside of the workers. None is made for fewer objects
// than it has pages.
//
// Two clients are on the same connection if a [ConnectionDescriber] says so, or if
// their objects refer to the same ProviderConfig.
func WithBulkObservation(staleness time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.bulk, r.staleness = true, staleness }
}

// newListCache returns what objects on one connection know together, or nil if they need
// not.
func (r *Reconciler) newListCache() *listcache.Cache {
	if !r.bulk && r.notifier == nil {
		return nil
	}
	round := r.pollInterval
	if !r.bulk {
		round = 0
	}

	return listcache.New(round, min(positive(r.staleness, r.pollInterval/2), r.pollInterval), r.createdAt)
}

// How long a pass may be busy with a list, page by page.
const listTurn = time.Second

// joinList puts the object on the roll of its connection.
func (p *clientSession) joinList(connection, revision string) {
	if p.r.lists != nil {
		if p.state.member == nil {
			p.state.member = listcache.NewMember(listcache.Key{Namespace: p.mg.GetNamespace(), Name: p.mg.GetName()})
		}
		p.member = p.state.member
		p.r.lists.Join(p.member, connection, revision, meta.GetExternalName(p.mg))
	}
}

// markTouched notes that the external resource was asked for, or may have been changed.
func (p *clientSession) markTouched() {
	if p.member != nil {
		p.r.lists.Touched(p.member, p.now())
	}
}

// listEligible says whether a list can do for this pass: nobody waits for it, and the
// object says that all is well.
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

// list asks for pages as long as it is this pass's turn to. What is wrong with the
// connection as a whole is the failure of the pass; that a list cannot be made is not.
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
			finished = true // the next who has leave goes on

			return observing.failed(err)
		case err != nil:
			p.log().Info("Cannot list, observing one by one", "connection", p.connection.Name, "error", p.redact(err))

			// The list may have taken the time that was meant for the object.
			return tryLater("listing", time.Millisecond)
		case !more:
			finished = true

			return nil
		case p.now().Sub(begun) >= listTurn:
			finished = true

			return tryLater("listing", time.Millisecond)
		}
	}
}

// nextPage asks for the next page, shows what is on it, and says whether there are more.
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

// page asks for a page, as any call is made.
func (p *clientSession) page(ctx context.Context, token string) (page ExternalListPage, err error) {
	release, err := p.waitForToken(ctx, false)
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
