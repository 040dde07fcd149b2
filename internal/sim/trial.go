package sim

import (
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Trial is a scenario with faults for any external system. It is for packages that check clients of other external
// systems, such as package conformance.
//
// Call Simulator.Try in a bubble of testing/synctest, where time passes when all goroutines wait. If a client waits for
// a network, goroutines outside the bubble have to make its calls. Connecter and External communicate with these
// goroutines over channels that were made outside the bubble. No virtual time passes during such a call.
type Trial struct {
	Config

	// External is the external system to which Connecter connects.
	External ExternalSystem

	// Schedule has the faults of the trial. Its scenario and its class are only names for the reader.
	Schedule Schedule

	// Script is the scenario. It is called when the first process runs.
	Script func(*World)

	// Edit changes the spec of an object for the n-th time, when a fault of the kind Edit happens. Drift changes an
	// external resource as another client would, when a fault of the kind Drift happens. By default both do nothing.
	Edit  func(mg resource.Managed, n int)
	Drift func()

	// Secrets are texts that the provider must not emit, in addition to those of the simulation.
	Secrets []string

	// Pace is called before a duration of virtual time passes. It may wait for an external system that uses another clock.
	// The default does not wait.
	Pace func(time.Duration)

	// Patient is called when objects are not in the desired state long after the last fault. It may wait. If it returns
	// true, the run continues. The default returns false.
	Patient func() bool

	// Salt makes the UIDs of the objects differ from those of trials with another salt, for external systems that remember
	// UIDs. The default is 0.
	Salt uint32
}

// Try runs a trial. If trace is set, the result has a trace.
func (m *Simulator) Try(t Trial, trace bool) Result {
	quietly()
	w := m.newWorld(t.Config, t.Schedule.Faults)
	w.server.Salt(t.Salt)
	w.external, w.verbose = t.External, trace
	w.addSecrets(t.Secrets...)
	w.users.drift = t.Drift
	if t.Edit != nil {
		w.users.edit = t.Edit
	}
	if t.Pace != nil {
		w.hooks.pace = t.Pace
	}
	if t.Patient != nil {
		w.hooks.patient = t.Patient
	}
	w.start(stepped{}, 0)
	t.Script(w)
	w.judgeWork(len(t.Schedule.Faults))
	w.end()

	return w.result(t.Schedule)
}

// FaultsAt returns single faults to try in further runs: one for each operation of this run and each kind that makes a
// difference there. For operations that only read, the kinds are those in reads. For operations that write, to the API
// server or to the external system, the kinds are those in writes.
func (r Result) FaultsAt(reads, writes []Kind) []Fault {
	var out []Fault
	for _, e := range r.steps {
		asked := reads
		if e.Op.Mutates {
			asked = writes
		}
		for _, v := range slices.Concat(KindsAt(e.Op, false, true), DoubtsAt(e.Op, true)) {
			if v.Usual() && slices.Contains(asked, v.Kind) {
				out = append(out, Fault{Op: e.Op.Name, N: e.N, Kind: v.Kind})
			}
		}
	}

	return out
}
