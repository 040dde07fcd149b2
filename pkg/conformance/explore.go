package conformance

import (
	"strings"
	"time"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Faults at the boundaries of a scenario. The suite uses only faults that make a difference to a client. Tests of the
// reconciler cover the other faults. A fault after a read has the same effect as a fault before the next operation.
var (
	faultsAtReads = []sim.Kind{
		sim.Fail, sim.Crash, sim.Edit, sim.Delete, sim.Drift, sim.Absent, sim.AbsentLive, sim.Throttle, sim.Hang,
		sim.Panics,
	}
	faultsAtWrites = []sim.Kind{
		sim.Lost, sim.CrashAfter, sim.Crash, sim.Conflict, sim.StopAfter, sim.Edit, sim.Delete, sim.LeaseLost, sim.Stale,
		sim.HangAfter, sim.Refuse, sim.Outage, sim.ExternalOut, sim.Throttle, sim.Hang, sim.Stop,
		sim.Panics, sim.PanicsAfter, sim.Refused,
	}
)

// maxFailuresPerScenario is the number of failed schedules after which the remaining schedules of a scenario are
// skipped.
const maxFailuresPerScenario = 3

// passed is a scenario that passed without faults.
type passed struct {
	scenario
	sim.Result

	exchanges map[callAt]int // of its calls with the external system
}

// runScenarios runs all scenarios of all samples without faults. It then runs the scenarios of the first sample with
// faults.
func (k *runner) runScenarios() {
	if k.suite.Replay != "" {
		k.replay()

		return
	}
	began := time.Now()
	var scenarios, restarts []passed
	for i, sample := range k.suite.Samples {
		for _, st := range k.scenarios() {
			r := k.runAndCollect(st, sample, nil, nil)
			if k.host.stopped() {
				return
			}
			if i == 0 && st.faults && len(r.Violations) == 0 {
				scenarios = append(scenarios, passed{st, r, k.ledger.wire.exchanges})
			}
			if i == 0 && st.restarts() && len(r.Violations) == 0 {
				restarts = append(restarts, passed{scenario: st, Result: r})
			}
		}
	}
	if k.noteTime("schedules without faults", began); k.stopped() {
		k.note("faults were not tried: something is wrong without them")

		return
	}
	if k.runRestarts(restarts); k.stopped() {
		k.note("other faults were not tried: something is wrong after the process has died")

		return
	}
	if k.runInterrupted(scenarios); k.stopped() {
		k.note("other faults were not tried: something is wrong between two requests of one call")

		return
	}
	k.runFaults(scenarios)
	if k.skipped > 0 {
		k.note(
			"%d schedules with faults were left out, for want of time or because others of their scenario fail: "+
				"with a larger Suite.Within there are fewer",
			k.skipped)
	}
}

// restarts reports whether a scenario is one in which a connection Secret has to work after the process has died.
func (s scenario) restarts() bool { return s.name == "create" || strings.HasPrefix(s.name, "update-") }

// runRestarts runs scenarios in which the process dies after each Create and Update. If the suite has an Authenticator,
// no limit of time leaves them out: they are few, and what only the memory of the process knows is lost there. The
// scenario "create" is the first one. The others begin like it, so their first calls are not tried again.
func (k *runner) runRestarts(scenarios []passed) {
	if _, ok := k.suite.Probe.(Authenticator); !ok || !k.publishes() {
		return
	}
	tried := map[callAt]bool{}
	for _, of := range scenarios {
		for _, f := range of.FaultsAt(nil, []sim.Kind{sim.CrashAfter}) {
			at := callAt{f.Op, f.N}
			if f.Op != "Create" && f.Op != "Update" || tried[at] {
				continue
			}
			if of.name == "create" {
				tried[at] = true
			}
			if k.runAndCollect(of.scenario, k.suite.Samples[0], []sim.Fault{f}, nil); k.stopped() {
				return
			}
		}
	}
}

// A faulted is a scenario with a fault at a boundary.
type faulted struct {
	passed

	fault sim.Fault
}

// runFaults runs scenarios with each fault at each boundary.
func (k *runner) runFaults(scenarios []passed) {
	var all []faulted
	for _, of := range scenarios {
		for _, f := range of.FaultsAt(faultsAtReads, faultsAtWrites) {
			if f.Kind != sim.AbsentLive || !of.neverObserved {
				all = append(all, faulted{of, f})
			}
		}
	}
	began, failed := time.Now(), map[string]int{}
	defer func() { k.noteTime("schedules with faults", began) }()
	k.faultsUntil = began.Add(k.suite.Within)
	for _, at := range spread(len(all)) {
		of := all[at]
		if k.leaveOut(failed[of.name]) {
			continue
		}
		if r := k.runAndCollect(of.scenario, k.suite.Samples[0], []sim.Fault{of.fault}, nil); len(r.Violations) > 0 {
			failed[of.name]++
		}
		if k.host.stopped() {
			return
		}
	}
}

// spread returns the numbers below n in an order of which each first part is spread evenly: if there is no time for all
// schedules, those that run are of all scenarios, and of their begin, middle and end.
func spread(n int) []int {
	const goldenRatio = 0.618
	step := int(float64(n) * goldenRatio)
	for divisor(step, n) > 1 {
		step++
	}
	out := make([]int, n)
	for i := range out {
		out[i] = i * step % n
	}

	return out
}

// divisor returns the greatest common divisor. Of 0 and a number it is the number.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}

	return a
}

// leaveOut reports, and counts, that a schedule is left out: the time is over, or enough schedules of its scenario have
// failed.
func (k *runner) leaveOut(failed int) bool {
	if time.Now().Before(k.faultsUntil) && failed < maxFailuresPerScenario {
		return false
	}
	k.skipped++

	return true
}

// runAndCollect runs a scenario with faults, and with the interruption of a call unless c is nil. It records the
// violations.
func (k *runner) runAndCollect(st scenario, sample resource.Managed, faults []sim.Fault, c *cut) sim.Result {
	schedule := sim.Schedule{Scenario: st.name, Class: sample.GetName(), Faults: faults}
	k.schedule = schedule.String()
	if c != nil {
		k.schedule += " " + c.String()
	}
	k.cut = c
	defer func() { k.schedule = "" }()
	r := k.runScenario(st, sample, schedule)
	if gone := k.host.stopReason.Load(); gone != nil {
		if gone.property == environment {
			return r
		}
		k.addFinding(gone.property, gone.text)

		return r // later violations mean nothing
	}
	for _, v := range r.Violations {
		text := v.Text
		if propertyOf(v.Property) == otherProperties {
			text = sim.Properties[v.Property] + ", and " + text
		}
		if c != nil {
			text += ". Before that, " + c.happened(len(faults) > 0)
		}
		k.addFinding(v.Property, text)
	}

	return r
}

// replay runs one scenario and logs its trace.
func (k *runner) replay() {
	cut, text, err := parseCut(k.suite.Replay)
	var schedule sim.Schedule
	if err == nil {
		schedule, err = sim.ParseSchedule(text)
	}
	if err != nil {
		k.addFinding("suite-is-complete", "Suite.Replay: "+err.Error())

		return
	}
	for _, sample := range k.suite.Samples {
		for _, st := range k.scenarios() {
			if st.name == schedule.Scenario && sample.GetName() == schedule.Class {
				r := k.runAndCollect(st, sample, schedule.Faults, cut)
				k.note("%s\n%s", k.suite.Replay, k.replaceUIDs(strings.Join(r.Trace, "\n")))

				return
			}
		}
	}
	k.addFinding("suite-is-complete", "Suite.Replay: there is no such scenario: "+k.suite.Replay)
}
