package managed

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A CreationRecoverer is an [ExternalClient] that can look up what a create led
// to whose answer was lost. With it, an interrupted creation resolves itself.
type CreationRecoverer = TypedCreationRecoverer[resource.Managed]

// A TypedCreationRecoverer is a [CreationRecoverer] for one type of managed
// resource.
type TypedCreationRecoverer[T resource.Managed] interface {
	// RecoverCreation looks for what the attempt with the token created: the
	// client put [CreationToken] where it can be searched for (a tag, a
	// label, a description) when it created. If it finds it, it sets the
	// external name of mg, as Create would have. It is called before Observe
	// while the result of an attempt is not known. Of an object that
	// was created before this process became the leader, shows nothing of an attempt
	// and is not found by Observe, it is called after Observe with the token of the
	// first attempt: an earlier process may have made that, and a replace or a restore
	// taken its record.
	// An error that [external.NotFound] has marked says the same as false; with
	// any other, nothing is created.
	RecoverCreation(ctx context.Context, mg T, token string) (found bool, err error)

	// RecoveryWindow returns how long after its creation a resource may fail
	// to be found: the longest delay of the search, and of a request that is
	// still under way. What is not found after that was not created.
	RecoveryWindow() time.Duration
}

// WithCreationTokens says that creating again with the same [CreationToken]
// leads to the same external resource. The default is that it does not. With it,
// an interrupted creation is repeated, also to learn what there is to delete. It
// contradicts [WithDeterministicExternalName].
func WithCreationTokens() ReconcilerOption {
	return func(r *Reconciler) { r.tokens = true }
}

type tokenKey struct{}

// CreationToken returns the token of the attempt that Create is called for, or nothing outside of Create. It is the
// same whenever the same attempt is repeated, stored before Create is called, and no other attempt has it, of
// whatever object. Of an object that shows nothing of an attempt the token is made of its UID and the time of its
// creation alone, with [WithCreationTokens] or a [CreationRecoverer]: a first Create is repeated with it, or what it
// created is looked up by it, even if a replace of the object, or a restore of the API server, took its record. It
// has at most 64 characters: the UID of the object, and [a-f0-9-].
func CreationToken(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)

	return token
}

// ContextWithCreationToken returns a context for which [CreationToken] returns the
// token. It is for tests of a client's Create; the reconciler makes its own.
func ContextWithCreationToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// token returns the token of the last attempt.
func (p *search) token() string {
	id, _ := attemptOf(p.mg)

	return p.tokenOf(id)
}

// tokenOf returns the token of an attempt, or nothing if that has no id.
func (p *search) tokenOf(id string) string {
	if id == "" {
		return ""
	}

	return string(p.mg.GetUID()) + "-" + id
}

// class returns what makes it safe to repeat a create. Nothing does for an attempt whose result is not known, and that
// was made in another class, or by a runtime that gives attempts no id, and has sent no token of ours.
func (p *clientSession) class() lifecycle.Class {
	id, _ := attemptOf(p.mg)
	switch {
	case p.otherClass(id) && (p.unresolved() || p.createdUnobserved()),
		(p.inherits() || id == "" && p.untraceable()) && !p.r.named:
		return lifecycle.Opaque
	default:
		return p.ownClass()
	}
}

// untraceable says whether nobody knows the result of the last attempt, or the external name of what it created.
func (p *clientSession) untraceable() bool {
	return p.unresolved() || meta.GetExternalName(p.mg) == "" && p.createdUnobserved()
}

// ownClass returns the class of the controller, and of its client.
func (p *clientSession) ownClass() lifecycle.Class {
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

// recover looks up what an attempt led to whose result is not known.
func (p *search) recover(ctx context.Context) error {
	if p.class() != lifecycle.Findable {
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
	case found && created(p.mg) != "" && meta.GetExternalName(p.mg) == named:
		p.recoveredUnobserved = true

		return nil
	case found:
		return p.recordFound(ctx)
	}
	p.recoveryGrace = window + p.patience() - p.now().Sub(since)
	p.recoveryNegative = p.recoveryGrace <= 0

	return nil
}

// recordFound stores what a lookup has found as the result of the attempt that the object is marked with.
func (p *search) recordFound(ctx context.Context) error {
	p.storeBackend()
	markResult(p.mg, attemptSucceeded, p.now())

	return recording.failed(p.store(ctx, telemetry.Result))
}

// searchExternal looks up what the attempt with a token led to. What is not found may be found later, within the
// window.
func (p *search) searchExternal(ctx context.Context, token string) (found bool, window time.Duration, err error) {
	limited, cancel := withDeadline(ctx, callDeadline(ctx))
	defer cancel()
	release, err := p.acquireToken(limited)
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

// neverSeen says whether a creation succeeded and no observation ever found its
// result, under whatever name: a user may have chosen another one since.
func (p *creationRecord) neverSeen() bool {
	this := creation(p.mg, p.mg)
	told, _ := p.observedInStatus(this)

	return p.createdUnobserved() && p.state.Seen.Mark != this.Mark && !told
}

// searchedSince returns since when this process knows of the attempt.
func (p *search) searchedSince() time.Time {
	if token := p.token(); p.state.Search != token {
		p.state.Search, p.state.SearchSince = token, p.now()
	}

	return p.state.SearchSince
}

// How long the absence of what was seen, or is to be deleted, is doubted, if nothing
// was sent that explains it: an answer may be wrong once. Whoever looks again does so
// over a new connection.
const doubt = 5 * time.Second

// notFoundGrace returns for how long absence is not believed yet, or that what exists is not ours.
func (p *search) notFoundGrace() time.Duration {
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
	if !meta.WasDeleted(p.mg) && !p.r.permissions(p.mg).Create { // nothing is made, whatever is so
		return rest
	}

	return max(rest, doubt-p.now().Sub(p.notFoundSince()))
}

// notFoundSince returns when what is ours was first not found under the name that it has: now, if that was not noted.
func (p *clientSession) notFoundSince() time.Time {
	if p.state.NotFoundSince.IsZero() || p.state.NotFoundName != meta.GetExternalName(p.mg) {
		return p.now()
	}

	return p.state.NotFoundSince
}

// recordNotFound notes when what is ours was first not found under the name that it has.
func (p *clientSession) recordNotFound() {
	p.state.NotFoundSince, p.state.NotFoundName = p.notFoundSince(), meta.GetExternalName(p.mg)
}

// unexpectedAbsence says whether nothing is known that explains that there is no external
// resource. Under a name of our choice nothing can be made twice, so that there is no
// need to ask again for an object that is wanted. What was found before is surprising also
// under a name that a user has chosen since, or that a replace has written.
func (p *creationRecord) unexpectedAbsence() bool {
	if meta.WasDeleted(p.mg) {
		return p.state.DeleteSent.IsZero() && len(p.mg.GetFinalizers()) > 0 // no finalizer: only in tests
	}

	return !p.r.named && (p.wasSeen() || p.createdUnobserved() && !p.neverSeen() || p.replaced())
}

// wasSeen says whether an observation has found what the object is marked with, or the one that
// it was restored from is marked with what it made.
func (p *creationRecord) wasSeen() bool {
	return (created(p.mg) != "" && !p.createdUnobserved() || p.inherited != "") && !p.unresolved()
}
