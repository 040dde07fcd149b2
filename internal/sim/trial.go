package sim

import (
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Trial is a scenario for any external system, with faults. It is for packages that check clients of other external
// systems, such as package conformance.
//
// Simulator.Try has to be called in a bubble of testing/synctest, where time passes when all goroutines wait. A client
// that waits for a network cannot live there: its calls have to be made by goroutines outside the bubble, with which
// Connecter and External communicate over channels made outside. No virtual time passes meanwhile.
type Trial struct {
	Config

	// External is the external system that Connecter leads to.
	External ExternalSystem

	// Schedule names the trial and has its faults. Its scenario and its class are
	// for the reader.
	Schedule Schedule

	// Script is the scenario. It is called when the first process runs.
	Script func(*World)

	// Edit changes the spec of an object for the n-th time, and Drift changes an
	// external resource out of band, when a fault requires it. The default is to
	// do nothing.
	Edit  func(mg resource.Managed, n int)
	Drift func()

	// Secrets are texts that must not be emitted, in addition to those of the
	// simulation.
	Secrets []string

	// Pace is called before time passes by so much. It may wait for an external
	// system whose time is another. The default is not to.
	Pace func(time.Duration)

	// Patient is asked when objects are not as asked for long after the last
	// fault. If it says yes, having waited, the world goes on. The default is
	// no.
	Patient func() bool

	// Salt makes the UIDs of the objects others than those of other trials, for
	// external systems that remember them. The default is that they are the same.
	Salt uint32
}

// Try runs a trial. With trace the result has the trace.
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

// FaultsAt returns faults at the boundaries of the schedule that was run, as far as they make a difference there: of
// the kinds in reads at operations that only read, of the kinds in writes at those that write, to the API server or to
// the external system.
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
