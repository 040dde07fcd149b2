package managed

import (
	"cmp"
	"context"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An Initializer prepares an object before Connect. It is called concurrently, in every pass over an object that is
// neither paused nor being deleted.
//
// Its changes of spec, labels and annotations are stored with the next write before a creation. If there is no such
// write, one more write stores them. An Initializer should not write the object itself.
type Initializer interface {
	Initialize(ctx context.Context, mg resource.Managed) error
}

// An InitializerFn is a function that is an Initializer.
type InitializerFn func(ctx context.Context, mg resource.Managed) error

// Initialize calls the function.
func (fn InitializerFn) Initialize(ctx context.Context, mg resource.Managed) error {
	return fn(ctx, mg)
}

// An InitializerChain calls initializers in order, until one fails.
type InitializerChain []Initializer

// Initialize calls the initializers in order.
func (c InitializerChain) Initialize(ctx context.Context, mg resource.Managed) error {
	for _, i := range c {
		if err := i.Initialize(ctx, mg); err != nil {
			return err
		}
	}

	return nil
}

// WithInitializers sets the initializers of each object. The default is none.
func WithInitializers(i ...Initializer) ReconcilerOption {
	return func(r *Reconciler) { r.initializers = i }
}

// prepare initializes the object and resolves its references, once in a pass, and computes which of these changes
// have to be stored.
func (p *clientSession) prepare(ctx context.Context) error {
	if p.prepared || meta.WasDeleted(p.mg) { // a deletion does not wait for preparation
		return nil
	}
	p.prepared = len(p.r.initializers) == 0 && p.r.resolver == nil && !isReferencer(p.mg)
	if p.prepared {
		return nil
	}
	ctx, cancel := withDeadline(ctx, callDeadline(ctx))
	defer cancel()
	if err := p.instrumentPrepare(ctx); err != nil {
		return err
	}
	p.prepared = true
	p.r.name(p.mg) // an initializer may have removed it
	if objectjson.Equal(p.read, p.mg) {
		return nil
	}
	filled, err := objectjson.Fields(p.read, p.mg)
	if err != nil {
		return initializing.failed(err)
	}
	p.initPatch, p.initLabels = filled, difference(p.read.GetLabels(), p.mg.GetLabels())

	return nil
}

// instrumentPrepare prepares the object. A wait for a reference does not count as a failed call.
func (p *clientSession) instrumentPrepare(ctx context.Context) error {
	var waiting error
	err := p.instrument(ctx, telemetry.Prepare, func(ctx context.Context) error {
		err := p.initializeAndResolve(ctx)
		if reference.IsExpected(err) {
			waiting, err = err, nil
		}

		return err
	})

	return cmp.Or(err, waiting)
}

func isReferencer(mg resource.Managed) bool {
	_, ok := mg.(Referencer)

	return ok
}

func (p *object) initializeAndResolve(ctx context.Context) error {
	if err := InitializerChain(p.r.initializers).Initialize(ctx, p.mg); err != nil {
		return initializing.failed(err)
	}
	p.takeOver()

	return resolving.failed(p.resolve(ctx))
}

// NameAsExternalName is an Initializer that sets the external name of an object to metadata.name, if the object has
// none. [WithDeterministicExternalName] sets the same external name, and also declares that a create may be repeated.
type NameAsExternalName struct{}

// Initialize sets the external name if there is none.
func (NameAsExternalName) Initialize(_ context.Context, mg resource.Managed) error {
	if meta.GetExternalName(mg) == "" {
		meta.SetExternalName(mg, mg.GetName())
	}

	return nil
}

// takeOver replaces the pass's version of an object by the version that an initializer has written itself.
func (p *object) takeOver() {
	version := p.mg.GetResourceVersion()
	if version == p.read.GetResourceVersion() {
		return
	}
	p.read = clone(p.mg)
	p.newest, p.generation, p.state.Version = p.read, p.mg.GetGeneration(), version
}

// name sets the name of the object as its external name if names are deterministic and it has none. Otherwise a
// client would be called with the empty name, which may select all resources.
func (r *Reconciler) name(mg resource.Managed) {
	if r.named && meta.GetExternalName(mg) == "" {
		meta.SetExternalName(mg, mg.GetName())
	}
}
