// Package peers is for showing that the simulator finds what is known to be wrong
// with two other runtimes, crossplane-runtime and krateo's provider-runtime, and that
// the same does no harm here. It has small models of their protocols: what they store
// around a create, in which order they ask and act, and what they do when a write
// fails. They were written from a description, and hold no code of theirs. Start with
// New.
//
// What does not matter to that is left out: events, references, late initialisation,
// connection Secrets, policies but pause and orphan. Of what was observed they store
// the generation, which those runtimes do not, because the judges of the simulator ask
// for it.
package peers

import (
	"context"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// What both runtimes have as constants or defaults.
const (
	grace        = 30 * time.Second // after a create, during which absence is not believed
	callTimeout  = time.Minute      // of all calls outside
	tail         = 30 * time.Second // that API writes have beyond that
	pollInterval = time.Minute

	// How often a write of critical annotations is tried, and the pause between.
	tries = 5
	pause = 10 * time.Millisecond
)

// A Protocol is how one of the runtimes does what they do differently.
type Protocol struct {
	name string

	// Names of the caller's choice: whether the object is named before anything
	// else in a write of its own, and whether an interrupted create is no reason
	// to stop then.
	storesName, repeatsNamed bool

	// Store the annotations of an object, once. What was tried before failed with
	// last.
	store func(ctx context.Context, c client.Client, mg resource.Managed, last error) error
	// Whether another try makes sense after an error.
	again func(error) bool
	// Whether a conflict that Create returns is marked as a failure.
	marksConflict bool
	// The annotations whose changes are no reason for a pass.
	deaf map[string]bool
}

// String returns the name of the runtime.
func (p *Protocol) String() string { return p.name }

// A Config is what a reconciler works with.
type Config struct {
	Client    client.Client // which reads from a cache
	Connecter managed.ExternalConnecter
	Clock     clock.PassiveClock
	New       func() resource.Managed

	// Named says that the names of external resources are of our choice.
	Named bool
}

// New returns a reconciler that follows a protocol.
func New(p *Protocol, c Config) reconcile.Reconciler { return &reconciler{Config: c, protocol: p} }

type reconciler struct {
	Config

	protocol *Protocol
}

// Reconcile makes a pass.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout+tail)
	defer cancel()
	mg := r.New()
	if err := r.Client.Get(ctx, req.NamespacedName, mg); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	outside, end := context.WithTimeout(ctx, callTimeout)
	defer end()
	p := &pass{reconciler: r, mg: mg, generation: mg.GetGeneration(), outside: outside}
	result, err := p.run(ctx)
	if kerrors.IsConflict(err) {
		return backOff, nil
	}

	return result, err
}

// BackOff asks for another pass with the back-off of the queue.
var backOff = reconcile.Result{Requeue: true} //nolint:staticcheck // it is what both runtimes return
