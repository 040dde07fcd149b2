package providerconfig

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// finalizerRetryDelays are the delays between the reads by which Get waits for the finalizer of a new configuration.
// The finalizer is usually added within some milliseconds.
var finalizerRetryDelays = []time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond,
	80 * time.Millisecond, 160 * time.Millisecond, 320 * time.Millisecond,
}

// A Reader reads objects and returns their kinds. Every client.Client implements it. The client of a manager reads from
// a cache and sends no request.
type Reader interface {
	client.Reader
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
}

// A GetOption changes the behavior of Get.
type GetOption func(*getOptions)

// getOptions holds the options of Get.
type getOptions struct{ unprotected bool }

// WithoutProtection lets Get return a configuration that has no finalizer or is being deleted. Use it in a provider
// that does not call Setup. A configuration may then be deleted while it is in use.
func WithoutProtection() GetOption {
	return func(o *getOptions) { o.unprotected = true }
}

// Get returns the configuration to which an object refers. The type of the configuration is one of the types in the
// argument kinds. A namespaced configuration is read only from the namespace of the object. The caller may modify the
// result.
//
// For the following errors, one of these functions returns true:
//
//   - IsInvalid: the object refers to no configuration, or to a kind that is not in kinds. Or a namespace is needed and
//     the object has none.
//   - IsMissing: the configuration does not exist.
//   - IsLeaving: the configuration is being deleted, and the object has not used it yet.
//   - IsNotReady: the configuration has no finalizer yet, and the object has not used it yet. Setup adds the finalizer
//     at once, so Get waits up to 630 ms for it. If the finalizer is missing after that, the provider does not call
//     Setup, or its manager does not run.
//
// Get does not return IsLeaving and IsNotReady errors for an object that is being deleted or has a finalizer, because
// such an object may have used the configuration before. Any other error is a failed read.
func Get(ctx context.Context, r Reader, mg resource.Object, kinds Kinds, o ...GetOption) (Config, error) {
	var options getOptions
	for _, set := range o {
		set(&options)
	}
	user, ok := mg.(User)
	if !ok {
		return nil, &configError{reason: invalid, message: fmt.Sprintf("a %T cannot refer to a ProviderConfig", mg)}
	}
	configs, err := newConfigKinds(kinds, r)
	if err != nil {
		return nil, err
	}
	k, kind, err := configs.resolveReference(user)
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		config, err := read(ctx, r, k, kind)
		if err == nil && !options.unprotected && !mayBeUsing(user) {
			err = checkUsable(config, k)
		}
		if err == nil {
			return config, nil
		}
		if !IsNotReady(err) || tries == len(finalizerRetryDelays) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(finalizerRetryDelays[tries]):
		}
	}
}

// read gets a configuration. If the configuration does not exist, IsMissing is true for the error.
func read(ctx context.Context, r Reader, k key, kind *kindInfo) (Config, error) {
	config, err := kind.newObject()
	if err != nil {
		return nil, err
	}
	err = r.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: k.name}, config)
	if gone.Answered(err, k.name) {
		return nil, k.newError(missing, "does not exist")
	}
	if err != nil {
		return nil, errors.Wrapf(err, "cannot get %s %s", k.kind, k.name)
	}

	return config, nil
}

// mayBeUsing reports whether an object may have used its configuration before.
func mayBeUsing(u User) bool {
	// An external name does not prove it, because a user or a reconciler in this pass may have set it.
	return !u.GetDeletionTimestamp().IsZero() || len(u.GetFinalizers()) > 0
}

// checkUsable returns an error if an object must not start to use a configuration.
func checkUsable(c Config, k key) error {
	switch {
	case !c.GetDeletionTimestamp().IsZero():
		return k.newError(deleting, "is being deleted")
	case !meta.FinalizerExists(c, FinalizerName):
		return k.newError(notReady, "is not ready: it lacks the finalizer that protects it while it is in use")
	default:
		return nil
	}
}

// An errorReason is the reason why Get returns no configuration.
type errorReason int

const (
	invalid errorReason = iota + 1
	missing
	deleting
	notReady
)

// A configError is an error that the IsX functions of this package classify.
type configError struct {
	reason                errorReason
	message               string
	kind, namespace, name string
}

// newError returns an error about the configuration k.
func (k key) newError(p errorReason, why string) error {
	return &configError{reason: p, message: why, kind: k.kind, namespace: k.namespace, name: k.name}
}

// Error returns the name of the configuration and the reason.
func (r *configError) Error() string {
	switch {
	case r.reason == invalid && r.kind == "":
		return r.message
	case r.reason == invalid:
		return fmt.Sprintf("%s: %.64q", r.message, r.kind)
	case r.namespace == "":
		return fmt.Sprintf("%s %s %s", r.kind, r.name, r.message)
	default:
		return fmt.Sprintf("%s %s/%s %s", r.kind, r.namespace, r.name, r.message)
	}
}

// IsInvalid reports whether err says that the reference of an object cannot lead to a configuration. A user has to
// correct the spec of the object.
func IsInvalid(err error) bool { return hasReason(err, invalid) }

// IsMissing reports whether err says that a configuration does not exist.
func IsMissing(err error) bool { return hasReason(err, missing) }

// IsLeaving reports whether err says that a configuration is being deleted.
func IsLeaving(err error) bool { return hasReason(err, deleting) }

// IsNotReady reports whether err says that a configuration has no finalizer yet.
func IsNotReady(err error) bool { return hasReason(err, notReady) }

// hasReason reports whether err is a configError with the given reason.
func hasReason(err error, p errorReason) bool {
	var r *configError

	return errors.As(err, &r) && r.reason == p
}
