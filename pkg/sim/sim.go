package sim

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/sim/search"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// What a run is made of, and its result.
type (
	// A Schedule is one run: a scenario in a class of external system, and the faults in it. Its String is one line,
	// which ParseSchedule reads.
	Schedule = sim.Schedule

	// A Fault goes wrong at the n-th start of an operation.
	Fault = sim.Fault

	// A Result is the result of a schedule.
	Result = sim.Result

	// A Violation is a broken property.
	Violation = sim.Violation

	// An Explorer runs a scenario with every fault at every boundary, and with combinations of faults. It omits those
	// that cannot differ from a run that it has made.
	Explorer = search.Explorer
)

// The kinds of the objects of schedules, besides Namespaces and Secrets. A Definition has no namespace.
type (
	Bucket     = sim.Bucket
	Replica    = sim.Replica
	Definition = sim.Definition
)

// Properties are what every schedule is checked for, by the name that a Violation has.
var Properties = sim.Properties

// Scheme returns the scheme of the objects of schedules. All calls return the same one, which must not be changed.
func Scheme() *runtime.Scheme { return sim.Scheme() }

// ParseSchedule parses the String of a schedule. It returns an error if the syntax or a kind of fault is unknown; Run
// returns one if the scenario or the class is.
func ParseSchedule(line string) (Schedule, error) { return sim.ParseSchedule(line) }

// Faultless returns a schedule without faults for each scenario in each class of external system that it has.
func Faultless() []Schedule { return sim.Faultless() }

// Run runs a schedule, with a reconciler that has the options o in addition to those of the scenario. With trace the
// result has a trace. It has to be called in a bubble of testing/synctest, because it spends hours of virtual time. It
// returns an error if the scenario or the class does not exist.
func Run(s Schedule, trace bool, o ...managed.ReconcilerOption) (Result, error) {
	return sim.Run(s, trace, o...)
}

// RunBehind is Run with another API server: behind returns a client of a server that answers in place of the simulated
// one. It has to be empty, and to serve the kinds of the objects of schedules. Requests and faults stay those of the
// simulation; lists are answered from what the server returned. Two runs of a schedule are the same only if the server
// assigns the same UIDs and versions. An error of behind is returned, and nothing is run. Nil is Run.
func RunBehind(s Schedule, trace bool, behind func() (client.Client, error), o ...managed.ReconcilerOption) (Result,
	error) {
	return sim.RunBehind(s, trace, behind, o...)
}
