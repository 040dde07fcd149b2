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

	// A Fault is a failure that is injected at one operation of the run: before or after the N-th execution of the
	// operation Op.
	Fault = sim.Fault

	// A Simulator runs schedules. Run uses the simulated API server. RunBehind uses a client of yours in place of that
	// server:
	//
	//	Run(s Schedule, trace bool, o ...managed.ReconcilerOption) (Result, error)
	//	RunBehind(s Schedule, trace bool, behind func() (client.Client, error),
	//		o ...managed.ReconcilerOption) (Result, error)
	//
	// The function behind returns a client of an empty server that serves Bucket, Replica, Definition, Namespace and
	// Secret. A Simulator may be used concurrently.
	//
	// Each run has to be in a bubble of testing/synctest, where time passes when all goroutines wait. If the client waits
	// for a network, goroutines outside the bubble have to make its calls. The client communicates with these goroutines
	// over channels that were made outside the bubble.
	Simulator = sim.Simulator

	// A Result is the result of one run of a schedule. Its field Violations has the properties that did not hold. If a
	// trace was requested, its field Trace has the operations and their results.
	Result = sim.Result

	// A Violation is a property that did not hold in a run.
	Violation = sim.Violation

	// An Explorer runs a scenario with every fault at every boundary, and with combinations of faults. It omits
	// combinations that would repeat another run. Call its method Explore. The fields Scenario, Class, Run, Found and
	// Depth are required. With the field Short it tries fewer faults, and with Whole it runs each schedule from beginning
	// to end.
	Explorer = search.Explorer
)

// The kinds of objects in schedules, in addition to Namespaces and Secrets. Buckets and Replicas are managed resources.
// A Definition is a CustomResourceDefinition with metadata only, and has no namespace.
type (
	Bucket     = sim.Bucket
	Replica    = sim.Replica
	Definition = sim.Definition
)

// Properties describes the properties that every run has to satisfy. The keys are the names in the field Property of a
// Violation.
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
