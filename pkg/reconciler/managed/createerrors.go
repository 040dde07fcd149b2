package managed

import (
	"context"
	"fmt"
	"sync"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// WithStrictCreateErrors takes an error of Create that does not say whether anything was
// created (external.EffectUntold) for one after which something may have been. It concerns
// kinds of class Opaque. The default is to take it for a failure: Create is called again with
// back-off, the object can be deleted meanwhile, and an error that hides an answer that was
// lost leads to a second external resource. With it, such an object waits for a person, so
// that its client has to tell what it knows by external.NotCreated. What external.IsRefused
// is true of is a failure in both.
func WithStrictCreateErrors() ReconcilerOption {
	return func(r *Reconciler) { r.strictCreateErrors = true }
}

// WithCreateErrorsAsFailures has no effect, in any class, also beside [WithStrictCreateErrors].
//
// Deprecated: that an error of Create which does not say otherwise is a failure is the default
// for kinds of class Opaque now. An error that says that something may have been created was
// a failure with this option if it was not a call that was cut off, such as a response with a
// status of the 500s; it is no failure any more.
func WithCreateErrorsAsFailures() ReconcilerOption { return func(*Reconciler) {} }

// SurelyFailed says whether the Create of the pass that returned err is taken to have created
// nothing, and tells if that is so only because err does not say otherwise.
func (p *pass) surelyFailed(err error) bool {
	class := p.ownClass()
	failed := p.r.surelyFailed(class, err)
	if failed && class == lifecycle.Opaque && external.EffectOf(err) == external.EffectUntold {
		p.r.telemetry.UntoldCreateError()
		p.r.untold.tell(p.r, err)
	}

	return failed
}

// SurelyFailed says whether a Create of the class that returned err is taken to have created
// nothing. A result that is not known is found out by a token or by a lookup without a person:
// where there is one, only what the client marks is a failure, so that it holds for a client
// of several requests, too.
func (r *Reconciler) surelyFailed(class lifecycle.Class, err error) bool {
	effect := external.EffectOf(err)
	switch {
	case class != lifecycle.Opaque:
		return effect != external.EffectPossible && (external.IsNotCreated(err) || external.IsMarkedAlreadyExists(err))
	case r.strictCreateErrors:
		return external.IsRefused(err)
	default:
		return effect != external.EffectPossible
	}
}

// Overran returns the error of a Create whose context has ended: unless the client marks it,
// nobody knows whether it is about a request that was cut off.
func overran(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || external.IsNotCreated(err) || external.IsMarkedAlreadyExists(err) {
		return err
	}

	return external.MaybeCreated(err)
}

// How many types of errors are told of.
const maxUntold = 16

// Untold are the types of errors of Create that did not say whether anything was created.
type untold struct {
	mu    sync.Mutex
	types map[string]bool
}

// Tell the log of the type of an error, once. Its text may have a secret, and is told by the
// object.
func (u *untold) tell(r *Reconciler, err error) {
	name := fmt.Sprintf("%T", innermost(err))
	u.mu.Lock()
	known := u.types[name] || len(u.types) >= maxUntold
	if !known {
		if u.types == nil {
			u.types = map[string]bool{}
		}
		u.types[name] = true
	}
	u.mu.Unlock()
	if !known {
		r.log.Info("An error of Create does not say whether anything was created, and is taken for a failure: mark it by external.NotCreated or external.MaybeCreated",
			"kind", r.of.Kind, "type", name)
	}
}

// Innermost returns the error that err is about, or the first that wraps several.
func innermost(err error) error {
	for range maxUntold {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}

	return err
}
