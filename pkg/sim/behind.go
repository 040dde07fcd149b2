package sim

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/sim/internal/berth"
)

// The kinds of objects that there are in schedules, beside Namespaces and Secrets. A
// Definition has no namespace.
type (
	Berth      = berth.Berth
	Tender     = berth.Tender
	Definition = berth.Definition
)

// Scheme returns the scheme of the objects that there are in schedules. All calls return
// the same one, which must not be changed.
func Scheme() *runtime.Scheme { return theScheme() }

// RunBehind is Run with the objects somewhere else: behind returns a client of what is to
// answer in the place of the simulated API server, is empty, and serves the kinds of
// objects that there are in schedules. Requests and faults stay those of the simulation;
// lists are answered from what the others have told, see Config.Behind. Two runs of a
// schedule are the same only if the UIDs and versions are that are given there. An error of
// behind is returned, and nothing is run. Nil is Run.
func RunBehind(s Schedule, trace bool, behind func() (client.Client, error), o ...managed.ReconcilerOption) (Result, error) {
	if behind == nil {
		return Run(s, trace, o...)
	}
	c, err := behind()
	if err != nil {
		return Result{}, errors.Wrap(err, "cannot make what is behind")
	}

	return runIn(s, trace, func() client.Client { return c }, func(*World) {}, o...)
}
