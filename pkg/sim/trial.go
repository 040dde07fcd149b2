package sim

import (
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Trial is a story about any external system, with faults. It is for whoever
// checks a client that is not of this package, such as package conformance.
//
// Like all of a simulation it is run in a bubble of testing/synctest, where time
// passes when nobody does anything. A client that waits for a network cannot live
// there: its calls have to be made by goroutines outside, with which Connecter and
// Outside speak over channels made outside. No virtual time passes meanwhile.
type Trial struct {
	Config

	// Outside is the external system that Connecter leads to.
	Outside Outside

	// Schedule names the trial and says what goes wrong in it. Its scenario and
	// its class are for who reads it.
	Schedule Schedule

	// Tell is the story. It is called once a first process runs.
	Tell func(*World)

	// Edit changes the spec of an object for the n-th time, and Drift an external
	// resource behind everybody's back, when a fault asks for it. The default is
	// to do nothing.
	Edit  func(mg resource.Managed, n int)
	Drift func()

	// Secrets are texts that nobody may see, along with the simulation's own.
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

// Run runs the trial.
func (t Trial) Run(trace bool) Result {
	quietly()
	w := newWorld(t.Config, t.Schedule.Faults)
	w.server.Salt(t.Salt)
	w.outside, w.verbose = t.Outside, trace
	w.hides(t.Secrets...)
	w.users.drift = t.Drift
	if t.Edit != nil {
		w.users.edit = t.Edit
	}
	if t.Pace != nil {
		w.pace = t.Pace
	}
	if t.Patient != nil {
		w.patient = t.Patient
	}
	w.start(stepped{}, 0)
	t.Tell(w)
	w.busy(len(t.Schedule.Faults))
	w.end()

	return w.result(t.Schedule)
}

// FaultsAt returns faults at the boundaries of the schedule that was run, as far as
// they make a difference there: of one list of kinds at operations that only read, of
// the other at those that write, here or outside.
func (r Result) FaultsAt(reads, writes []Kind) []Fault {
	var out []Fault
	for _, e := range r.steps {
		asked := reads
		if e.op.mutates {
			asked = writes
		}
		for _, v := range slices.Concat(kindsAt(e.op, false, true), doubtsAt(e.op, true)) {
			if v.usual() && slices.Contains(asked, v.kind) {
				out = append(out, Fault{Op: e.op.name, N: e.n, Kind: v.kind})
			}
		}
	}

	return out
}
