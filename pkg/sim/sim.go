package sim

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/sim/search"
)

// Types to describe and make a run, and its result.
type (
	// A Schedule describes one run: a scenario, a class of external system, and faults. Its String is one line, which
	// ParseSchedule reads.
	Schedule = sim.Schedule

	// A Fault is injected at the n-th start of an operation.
	Fault = sim.Fault

	// A Simulator runs schedules. Run uses the simulated API server, and RunBehind a client of yours in its place:
	//
	//	Run(s Schedule, trace bool, o ...managed.ReconcilerOption) (Result, error)
	//	RunBehind(s Schedule, trace bool, behind func() (client.Client, error),
	//		o ...managed.ReconcilerOption) (Result, error)
	//
	// The function behind returns a client of an empty server that serves Bucket, Replica, Definition, Namespace and
	// Secret. A Simulator may be used concurrently.
	//
	// Each run has to be in a bubble of testing/synctest, where time passes when all goroutines wait. A client that waits
	// for a network cannot live there: its calls have to be made by goroutines outside of the bubble, over channels that
	// are made outside.
	Simulator = sim.Simulator

	// A Result is the result of a schedule: Violations has the properties that did not hold, and Trace what happened, if
	// it was asked for.
	Result = sim.Result

	// A Violation is a broken property.
	Violation = sim.Violation

	// An Explorer runs a scenario with every fault at every boundary, and with combinations of faults. It omits those
	// that cannot differ from a run that it has made. Its fields Scenario, Class, Run, Found and Depth are required; Short
	// tries fewer faults, and Whole runs each schedule to its own end. Explore starts it.
	Explorer = search.Explorer
)

// The kinds of objects in schedules, in addition to Namespaces and Secrets. Buckets and Replicas are managed resources.
// A Definition is a CustomResourceDefinition with metadata only, and has no namespace.
type (
	Bucket     = sim.Bucket
	Replica    = sim.Replica
	Definition = sim.Definition
)

// Properties describes the properties that every run has to satisfy. The keys are the names that a Violation has.
var Properties = sim.Properties

// Scheme returns the scheme of the kinds of objects in schedules. All calls return one shared scheme, which must not be
// modified.
func Scheme() *runtime.Scheme { return sim.Scheme() }

// ParseSchedule parses the String of a schedule. It returns an error if the syntax is wrong or a kind of fault is
// unknown. It does not check the names of the scenario and the class: running the schedule returns an error if one of
// them is unknown.
func ParseSchedule(line string) (Schedule, error) { return sim.ParseSchedule(line) }

// Faultless returns schedules without faults: one for each scenario and each class of external system that the scenario
// supports.
func Faultless() []Schedule { return sim.Faultless() }

// New returns a Simulator. Call it outside the bubbles of testing/synctest in which the Simulator runs schedules.
func New() *Simulator { return sim.New() }
