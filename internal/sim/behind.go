package sim

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// The kinds of the objects of schedules, besides Namespaces and Secrets. A Definition has no namespace.
type (
	Bucket     = bucket.Bucket
	Replica    = bucket.Replica
	Definition = bucket.Definition
)

// Scheme returns the scheme of the objects of schedules. All calls return the same one, which must not be changed.
func Scheme() *runtime.Scheme { return theScheme() }

// RunBehind is Run with another API server: behind returns a client of a server that answers in place of the simulated
// one. It has to be empty, and to serve the kinds of the objects of schedules. Requests and faults stay those of the
// simulation; lists are answered from what the server returned, see Config.Behind. Two runs of a schedule are the same
// only if the server assigns the same UIDs and versions. An error of behind is returned, and nothing is run. Nil is
// Run.
func RunBehind(s Schedule, trace bool, behind func() (client.Client, error), o ...managed.ReconcilerOption) (Result,
	error) {
	if behind == nil {
		return Run(s, trace, o...)
	}
	c, err := behind()
	if err != nil {
		return Result{}, errors.Wrap(err, "cannot make what is behind")
	}

	return runIn(s, trace, func() client.Client { return c }, func(*World) {}, o...)
}
