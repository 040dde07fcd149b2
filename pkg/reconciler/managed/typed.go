package managed

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/internal/unwrap"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// WithTypedExternalConnector sets the connector to the external system for a kind with the Go type T. If the
// connector is also an [ExternalDisconnecter], the reconciler calls its Disconnect at the end of each pass.
func WithTypedExternalConnector[T resource.Managed](c TypedExternalConnector[T]) ReconcilerOption {
	return func(r *Reconciler) {
		untyped := Untyped(c)
		if both, ok := untyped.(ExternalConnectDisconnecter); ok {
			r.connecter = both
		} else {
			r.connecter = NewNopDisconnecter(untyped)
		}
	}
}

// Untyped returns an [ExternalConnecter] that calls a typed connector. Its Connect returns an error for an object of
// another type than T. The result is an [ExternalDisconnecter] if c is one.
func Untyped[T resource.Managed](c TypedExternalConnector[T]) ExternalConnecter {
	connecter := untypedConnecter[T]{c}
	if d, ok := c.(ExternalDisconnecter); ok {
		return struct {
			untypedConnecter[T]
			ExternalDisconnecter
		}{connecter, d}
	}

	return connecter
}

type untypedConnecter[T resource.Managed] struct {
	typed TypedExternalConnector[T]
}

func (u untypedConnecter[T]) Connect(ctx context.Context, mg resource.Managed) (ExternalClient, error) {
	object, err := as[T](mg)
	if err != nil {
		return nil, err
	}
	c, err := u.typed.Connect(ctx, object)
	if c == nil || err != nil {
		return nil, err
	}

	client := untypedClient[T]{c}
	r, recovers := unwrap.As[TypedCreationRecoverer[T]](c)
	l, lists := c.(TypedExternalLister[T]) // a wrapper forwards its lists itself
	switch {
	case recovers && lists:
		return struct {
			recoveringClient[T]
			untypedLister[T]
		}{recoveringClient[T]{client, r}, untypedLister[T]{l}}, nil
	case recovers:
		return recoveringClient[T]{client, r}, nil
	case lists:
		return struct {
			untypedClient[T]
			untypedLister[T]
		}{client, untypedLister[T]{l}}, nil
	default:
		return client, nil
	}
}

// A recoveringClient is an untypedClient that is a CreationRecoverer.
type recoveringClient[T resource.Managed] struct {
	untypedClient[T]

	recoverer TypedCreationRecoverer[T]
}

func (r recoveringClient[T]) RecoverCreation(ctx context.Context, mg resource.Managed, token string) (bool, error) {
	object, err := as[T](mg)
	if err != nil {
		return false, err
	}

	return r.recoverer.RecoverCreation(ctx, object, token)
}

func (r recoveringClient[T]) RecoveryWindow() time.Duration { return r.recoverer.RecoveryWindow() }

// An untypedClient converts objects to the type T, which its connecter has checked.
type untypedClient[T resource.Managed] struct {
	typed TypedExternalClient[T]
}

// Unwrap returns the typed client, which may have optional interfaces.
func (u untypedClient[T]) Unwrap() any { return u.typed }

// An untypedLister converts objects to the type T, which its connecter has checked.
type untypedLister[T resource.Managed] struct{ TypedExternalLister[T] }

func (u untypedLister[T]) ObserveListed(ctx context.Context, mg resource.Managed,
	listed any) (ExternalObservation, error) {
	object, err := as[T](mg)
	if err != nil {
		return ExternalObservation{}, err
	}

	return u.TypedExternalLister.ObserveListed(ctx, object, listed)
}

func (u untypedClient[T]) Observe(ctx context.Context, mg resource.Managed) (ExternalObservation, error) {
	object, err := as[T](mg)
	if err != nil {
		return ExternalObservation{}, err
	}

	return u.typed.Observe(ctx, object)
}

func (u untypedClient[T]) Create(ctx context.Context, mg resource.Managed) error {
	return with(ctx, mg, u.typed.Create)
}

func (u untypedClient[T]) Update(ctx context.Context, mg resource.Managed) error {
	return with(ctx, mg, u.typed.Update)
}

func (u untypedClient[T]) Delete(ctx context.Context, mg resource.Managed) error {
	return with(ctx, mg, u.typed.Delete)
}

func with[T resource.Managed](ctx context.Context, mg resource.Managed, call func(context.Context, T) error) error {
	object, err := as[T](mg)
	if err != nil {
		return err
	}

	return call(ctx, object)
}

func as[T resource.Managed](mg resource.Managed) (T, error) {
	object, ok := mg.(T)
	if !ok {
		return object, errors.Errorf("unexpected object type %T", mg)
	}

	return object, nil
}
