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

// How long Get waits for the finalizer of a configuration that was just made, step
// by step: it is usually there after some milliseconds.
var finalizerWaits = []time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond,
	80 * time.Millisecond, 160 * time.Millisecond, 320 * time.Millisecond,
}

// A Reader reads objects and knows their kinds. Every client.Client is one; that of
// a manager reads from its cache, so that nothing is sent.
type Reader interface {
	client.Reader
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
}

// A GetOption says how Get behaves.
type GetOption func(*getOptions)

type getOptions struct{ unprotected bool }

// WithoutProtection lets Get hand out a configuration that has no finalizer, and one
// that is being deleted: for a provider that does without Setup. A configuration may
// then vanish while it is in use.
func WithoutProtection() GetOption {
	return func(o *getOptions) { o.unprotected = true }
}

// Get returns the configuration that an object refers to, of the type that is given
// in kinds. A configuration with a namespace is looked for in the namespace of the
// object and nowhere else.
//
// It refuses, with an error for which one of these functions reports true:
//
//   - IsInvalid: the object refers to no configuration, or to a kind that is not
//     among the given ones, or has no namespace where one is needed;
//   - IsMissing: the configuration does not exist;
//   - IsLeaving: it is being deleted, and the object would only begin to use it. An
//     object that is being deleted itself, or that has a finalizer, may go on:
//     deletion waits for it;
//   - IsNotReady: it has no finalizer yet, and the object would only begin to use it.
//     Setup adds one at once, so Get waits for that, most of a second; if it does not
//     come, Setup is missing in the provider, or does not run.
//
// Any other error is one of reading. The result belongs to the caller.
func Get(ctx context.Context, r Reader, mg resource.Object, kinds Kinds, o ...GetOption) (Config, error) {
	var options getOptions
	for _, set := range o {
		set(&options)
	}
	user, ok := mg.(User)
	if !ok {
		return nil, &refusal{problem: invalid, why: fmt.Sprintf("a %T cannot name a ProviderConfig", mg)}
	}
	f, err := newFamily(kinds, r)
	if err != nil {
		return nil, err
	}
	k, kind, err := f.refers(user)
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		config, err := read(ctx, r, k, kind)
		if err == nil && !options.unprotected && !uses(user) {
			err = usable(config, k)
		}
		if err == nil {
			return config, nil
		}
		if !IsNotReady(err) || tries == len(finalizerWaits) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(finalizerWaits[tries]):
		}
	}
}

func read(ctx context.Context, r Reader, k key, kind *form) (Config, error) {
	config, err := kind.new()
	if err != nil {
		return nil, err
	}
	err = r.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: k.name}, config)
	if gone.Answered(err, k.name) {
		return nil, k.refuse(missing, "does not exist")
	}
	if err != nil {
		return nil, errors.Wrapf(err, "cannot get %s %s", k.kind, k.name)
	}

	return config, nil
}

// uses says whether an object may have used its configuration before.
func uses(u User) bool {
	// An external name proves nothing: a user may have set it, or a reconciler in
	// this very pass.
	return !u.GetDeletionTimestamp().IsZero() || len(u.GetFinalizers()) > 0
}

// usable returns an error if an object must not begin to use a configuration.
func usable(c Config, k key) error {
	switch {
	case !c.GetDeletionTimestamp().IsZero():
		return k.refuse(leaving, "is being deleted")
	case !meta.FinalizerExists(c, FinalizerName):
		return k.refuse(notReady, "is not ready: nothing protects it from being deleted while it is in use")
	default:
		return nil
	}
}

// A problem is why a configuration is refused.
type problem int

const (
	invalid problem = iota + 1
	missing
	leaving
	notReady
)

type refusal struct {
	problem               problem
	why                   string
	kind, namespace, name string
}

func (k key) refuse(p problem, why string) error {
	return &refusal{problem: p, why: why, kind: k.kind, namespace: k.namespace, name: k.name}
}

// Error says what was refused and why.
func (r *refusal) Error() string {
	switch {
	case r.problem == invalid && r.kind == "":
		return r.why
	case r.problem == invalid:
		return fmt.Sprintf("%s: %.64q", r.why, r.kind)
	case r.namespace == "":
		return fmt.Sprintf("%s %s %s", r.kind, r.name, r.why)
	default:
		return fmt.Sprintf("%s %s/%s %s", r.kind, r.namespace, r.name, r.why)
	}
}

// IsInvalid reports whether err says that an object refers to no configuration that
// could exist. Its spec has to be corrected.
func IsInvalid(err error) bool { return is(err, invalid) }

// IsMissing reports whether err says that a configuration does not exist.
func IsMissing(err error) bool { return is(err, missing) }

// IsLeaving reports whether err says that a configuration is being deleted.
func IsLeaving(err error) bool { return is(err, leaving) }

// IsNotReady reports whether err says that a configuration has no finalizer yet.
func IsNotReady(err error) bool { return is(err, notReady) }

func is(err error, p problem) bool {
	var r *refusal

	return errors.As(err, &r) && r.problem == p
}
