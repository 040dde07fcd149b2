package managed

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// WithStrictCreateErrors makes the object wait for its user after an error of Create that does not show whether
// anything was created (external.EffectUnknown). It concerns only kinds of class Opaque, for which nothing makes a
// repeated Create safe (see docs/lifecycle.md).
//
// By default such an error is a failure. Create is called again with backoff, and the object can be deleted
// meanwhile. If the client hides a lost response behind such an error, the default creates a second external
// resource.
//
// With this option no second resource is created, but the client has to return external.NotCreated for errors after
// which nothing was created. An error for which external.IsRefused is true is a failure with and without this option.
func WithStrictCreateErrors() ReconcilerOption {
	return func(r *Reconciler) { r.strictCreateErrors = true }
}

// WithCreateErrorsAsFailures has no effect, in no class and with no other option.
//
// Deprecated: Remove this option. Kinds of class Opaque now have its behavior by default, with one exception. The
// exception is an error after which something may have been created, such as an HTTP status of 500 or above. With this
// option such an error was a failure. Now the object waits for its user.
func WithCreateErrorsAsFailures() ReconcilerOption { return func(*Reconciler) {} }

// createFailed reports whether Create is assumed to have created nothing, given its error. If it is assumed only
// because the error does not show otherwise, createFailed logs the type of the error.
func (p *clientSession) createFailed(err error) bool {
	class := p.ownClass()
	failed := p.r.provesNotCreated(class, err)
	if failed && class == lifecycle.Opaque && external.EffectOf(err) == external.EffectUnknown {
		p.r.telemetry.UntoldCreateError()
		p.r.createErrorLog.log(p.r, err)
	}

	return failed
}

// provesNotCreated reports whether a Create of the class is assumed to have created nothing, given its error. In the
// classes Token and Findable the reconciler resolves an unknown result without a user. So only an error that the
// client has marked is a failure there, which is also safe for a client that sends several requests.
func (r *Reconciler) provesNotCreated(class lifecycle.CreateClass, err error) bool {
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

// createErrorLog has the types of errors of Create that did not determine whether anything was created.
type createErrorLog struct {
	mu    sync.Mutex
	types []string
}

// The largest number of error types that are logged.
const maxUntold = 16

// log logs the type of an error, once. Its text may contain a secret, and is reported on the object.
func (u *createErrorLog) log(r *Reconciler, err error) {
	if name := fmt.Sprintf("%T", innermost(err)); u.first(name) {
		r.log.Info("An error of Create does not say whether anything was created, and is taken for a failure: mark it by "+
			"external.NotCreated or external.MaybeCreated",
			"kind", r.of.Kind, "type", name)
	}
}

// innermost returns the innermost wrapped error. It stops at an error that wraps several.
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

// first reports whether a type is logged for the first time.
func (u *createErrorLog) first(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if slices.Contains(u.types, name) || len(u.types) >= maxUntold {
		return false
	}
	u.types = append(u.types, name)

	return true
}

// afterDeadline returns the error of a Create whose context has ended. Unless the client has marked it, the error may
// come from a request that was interrupted.
func afterDeadline(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || external.IsNotCreated(err) || external.IsMarkedAlreadyExists(err) {
		return err
	}

	return external.MaybeCreated(err)
}
