package managed

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A CreationRecoverer is an [ExternalClient] that can look up the resource of a create whose response was lost. With
// it, the reconciler resolves an interrupted creation without the help of a user.
type CreationRecoverer = TypedCreationRecoverer[resource.Managed]

// A TypedCreationRecoverer is a [CreationRecoverer] for one Go type of managed resource.
type TypedCreationRecoverer[T resource.Managed] interface {
	// RecoverCreation looks for the resource that the attempt with the token created. The client stores [CreationToken] in
	// a searchable place, such as a tag, a label or a description, when it creates a resource. If RecoverCreation finds
	// the resource, it sets the external name of mg, as Create does.
	//
	// An error for which [external.IsNotFound] is true means the same as the result found = false. After any other error
	// nothing is created.
	//
	// The reconciler calls RecoverCreation before Observe while the result of an attempt is unknown. It also calls
	// RecoverCreation after Observe, with the token of the first attempt, for an object that has all of these properties:
	// Observe has not found the resource of the object, the object has no record of an attempt, and the object was created
	// before this process became the leader. An earlier process may have made that attempt, and a replace or a restore may
	// have removed the record.
	RecoverCreation(ctx context.Context, mg T, token string) (found bool, err error)

	// RecoveryWindow returns the longest time for which RecoverCreation may not find a created resource yet. The window
	// includes the longest delay of the search, and of a request that is still in progress. A resource that is not found
	// after the window was not created.
	RecoveryWindow() time.Duration
}

// WithCreationTokens declares that a repeated Create with the same [CreationToken] leads to the same external
// resource. By default the reconciler does not assume that.
//
// With this option the reconciler repeats an interrupted creation. If the object is being deleted, the reconciler
// repeats the creation, too, to find the resource that has to be deleted. The option contradicts
// [WithDeterministicExternalName].
func WithCreationTokens() ReconcilerOption {
	return func(r *Reconciler) { r.tokens = true }
}

type tokenKey struct{}

// CreationToken returns the token of the attempt for which Create is called. Outside of Create it returns "". A token
// has at most 64 characters: the UID of the object, and [a-f0-9-].
//
// The token is stored before Create is called. A repetition of the attempt has the same token, and no other attempt
// of any object has it.
//
// With [WithCreationTokens] or a [CreationRecoverer], the token of the first attempt is derived from the UID and the
// creation time of the object. So the reconciler can repeat the first Create, or look up its resource, even if a
// replace of the object or a restore of the API server has removed the record of the attempt.
func CreationToken(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)

	return token
}

// ContextWithCreationToken returns a context for which [CreationToken] returns the token. Use it to test Create of a
// client. The reconciler itself adds the token to the context of Create.
func ContextWithCreationToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// recover looks up the resource of an attempt whose result is unknown.
func (p *recovery) recover(ctx context.Context) error {
	if p.createClass() != lifecycle.Findable {
		return nil
	}
	p.trackCreation()
	if !p.unresolved() && (!p.neverSeen() || p.creationGrace() > 0) || p.token() == "" {
		return nil
	}
	since, named := p.searchedSince(), meta.GetExternalName(p.mg)
	found, window, err := p.searchExternal(ctx, p.token())
	switch {
	case err != nil:
		return observing.failed(err)
	case found && attempt.CreationMark(p.mg) != "" && meta.GetExternalName(p.mg) == named:
		p.recoveredUnobserved = true

		return nil
	case found:
		return p.recordFound(ctx)
	}
	p.recoveryGrace = window + p.recreationDelay() - p.now().Sub(since)
	p.recoveryNegative = p.recoveryGrace <= 0

	return nil
}

// createClass returns what makes it safe to repeat a create. It returns Opaque if the result of the last attempt is
// unknown and the attempt has no token of the current class. Such an attempt was made in another class, or by a
// runtime that gives attempts no ID.
func (p *clientSession) createClass() lifecycle.CreateClass {
	id, _ := attempt.Of(p.mg)
	switch {
	case p.otherClass(id) && (p.unresolved() || p.createdUnobserved()),
		(p.inherits() || id == "" && p.untraceable()) && !p.r.named:
		return lifecycle.Opaque
	default:
		return p.ownClass()
	}
}

// untraceable reports whether the result of the last attempt, or the external name of its resource, is unknown.
func (p *clientSession) untraceable() bool {
	return p.unresolved() || meta.GetExternalName(p.mg) == "" && p.createdUnobserved()
}

// ownClass returns the class of the controller and of its client.
func (p *clientSession) ownClass() lifecycle.CreateClass {
	switch {
	case p.r.named:
		return lifecycle.Named
	case p.r.tokens:
		return lifecycle.Token
	case p.recoverer != nil:
		return lifecycle.Findable
	default:
		return lifecycle.Opaque
	}
}

// searchedSince returns the time since which this process knows of the attempt.
func (p *recovery) searchedSince() time.Time {
	if token := p.token(); p.state.Search != token {
		p.state.Search, p.state.SearchSince = token, p.now()
	}

	return p.state.SearchSince
}

// token returns the token of the last attempt.
func (p *recovery) token() string {
	id, _ := attempt.Of(p.mg)

	return p.tokenOf(id)
}

// tokenOf returns the token of an attempt, or "" if it has no id.
func (p *recovery) tokenOf(id string) string {
	if id == "" {
		return ""
	}

	return string(p.mg.GetUID()) + "-" + id
}

// searchExternal looks up the resource of the attempt with a token. A resource that is not found may be found
// later, within the window.
func (p *recovery) searchExternal(ctx context.Context, token string) (found bool, window time.Duration, err error) {
	limited, cancel := withDeadline(ctx, callDeadline(ctx))
	defer cancel()
	release, err := p.acquirePermit(limited)
	if err != nil {
		return false, 0, err
	}
	err = p.call(release, func() error {
		return p.instrumentGuarded(limited, telemetry.Recover, func(ctx context.Context) (err error) {
			found, err = p.recoverer.RecoverCreation(ctx, p.mg, token)
			window = p.recoverer.RecoveryWindow()
			if external.IsNotFound(err) {
				return nil
			}

			return err
		})
	})
	switch {
	case err != nil:
		return false, 0, errors.Wrap(err, "cannot look up what was created")
	case found && meta.GetExternalName(p.mg) == "":
		return false, 0, errors.New("what was created was found, and has no external name: RecoverCreation has to set it")
	}
	p.recoveryWindow = window

	return found, window, nil
}

// recordFound stores the resource that a lookup has found as the result of the attempt that the object is marked
// with.
func (p *recovery) recordFound(ctx context.Context) error {
	p.storeBackend()
	attempt.MarkResult(p.mg, attempt.Succeeded, p.now())

	return recording.failed(p.store(ctx, telemetry.Result))
}

// absenceGrace is how long "not found" has to be confirmed, unless a Delete explains it, because one response may be
// wrong. It applies to a resource that was observed before or that is to be deleted. The next pass uses a new
// connection.
const absenceGrace = 5 * time.Second

// notFoundGrace returns how long the reconciler does not believe yet that a resource is absent, or has another owner.
func (p *recovery) notFoundGrace() time.Duration {
	rest := max(p.recoveryGrace, 0)
	if p.recoveredUnobserved { // for as long as the two answers differ
		rest = p.r.pollInterval
	}
	switch {
	case p.observed && p.observation.ResourceExists:
		return p.ownershipGrace()
	case !p.observed || !p.unexpectedAbsence():
		return rest
	}
	if !meta.WasDeleted(p.mg) && !p.r.permissions(p.mg).Create { // nothing is created in any case
		return rest
	}

	return max(rest, absenceGrace-p.now().Sub(p.notFoundSince()))
}

// unexpectedAbsence reports whether there is no known explanation for the absence of the external resource. With
// deterministic names nothing can be created twice, so an object that is not being deleted needs no second
// observation. The absence of a resource that was found before is also unexpected if a user or a replace has set
// another external name since.
func (p *creationRecord) unexpectedAbsence() bool {
	if meta.WasDeleted(p.mg) {
		return p.state.DeleteSent.IsZero() &&
			len(p.mg.GetFinalizers()) > 0 // an object without finalizers exists only in tests
	}

	return !p.r.named && (p.wasSeen() || p.createdUnobserved() && !p.neverSeen() || p.replaced())
}

// wasSeen reports whether an observation has found the resource that the annotations of the object record. For a
// restored object, an observation by the original object also counts.
func (p *creationRecord) wasSeen() bool {
	return (attempt.CreationMark(p.mg) != "" && !p.createdUnobserved() || p.inherited != "") && !p.unresolved()
}

// neverSeen reports whether a creation succeeded and no observation has found its resource under any name. A user may
// have set another name since.
func (p *creationRecord) neverSeen() bool {
	this := attempt.Creation(p.mg, p.mg)
	inStatus, _ := p.observedInStatus(this)

	return p.createdUnobserved() && p.state.Seen.Mark != this.Mark && !inStatus
}

// recordNotFound records when the owned resource was first not found under its present name.
func (p *clientSession) recordNotFound() {
	p.state.NotFoundSince, p.state.NotFoundName = p.notFoundSince(), meta.GetExternalName(p.mg)
}

// notFoundSince returns when our resource was first not found under its current name. If that was not recorded, it
// returns the current time.
func (p *clientSession) notFoundSince() time.Time {
	if p.state.NotFoundSince.IsZero() || p.state.NotFoundName != meta.GetExternalName(p.mg) {
		return p.now()
	}

	return p.state.NotFoundSince
}
