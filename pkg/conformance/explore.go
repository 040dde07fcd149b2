package conformance

import (
	"strings"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim"
)

// What goes wrong at the boundaries of a story: all that makes a difference to a
// client. What only tries the reconciler is left to the tests of that. After an
// operation that only reads, nothing happens that does not happen before the next.
var (
	atReads = []sim.Kind{
		sim.Fail, sim.Crash, sim.Edit, sim.Delete, sim.Drift, sim.Absent, sim.AbsentLive, sim.Throttle, sim.Hang, sim.Panics,
	}
	atWrites = []sim.Kind{
		sim.Lost, sim.CrashAfter, sim.Crash, sim.Conflict, sim.StopAfter, sim.Edit, sim.Delete, sim.Usurp, sim.Stale,
		sim.HangAfter, sim.Refuse, sim.Outage, sim.ExternalOut, sim.Throttle, sim.Hang, sim.Stop,
		sim.Panics, sim.PanicsAfter, sim.Refused,
	}
)

// So many schedules of a story that fail are enough to see why.
const failing = 3

// tellStories tells all stories of all samples without faults, and those of the
// first sample with faults.
func (k *kit) tellStories() {
	if k.suite.Replay != "" {
		k.replay()

		return
	}
	type told struct {
		story
		sim.Result
	}
	var stories []told
	for i, sample := range k.suite.Samples {
		for _, st := range k.stories() {
			r := k.judge(st, sample, nil)
			if k.host.dead() {
				return
			}
			if i == 0 && st.faults && len(r.Violations) == 0 {
				stories = append(stories, told{st, r})
			}
		}
	}
	if k.stopped() {
		k.note("faults were not tried: something is wrong without them")

		return
	}
	for _, of := range stories {
		failed := 0
		for _, f := range of.FaultsAt(atReads, atWrites) {
			if f.Kind == sim.AbsentLive && of.unseen {
				continue
			}
			if time.Since(k.began) > k.suite.Within || failed >= failing {
				k.skipped++

				continue
			}
			if r := k.judge(of.story, k.suite.Samples[0], []sim.Fault{f}); len(r.Violations) > 0 {
				failed++
			}
			if k.host.dead() {
				return
			}
		}
	}
	if k.skipped > 0 {
		k.note("%d schedules with faults were left out, for want of time or because others of their story fail: with a larger Suite.Within there are fewer", k.skipped)
	}
}

// judge tells a story with faults and keeps what is found.
func (k *kit) judge(st story, sample resource.Managed, faults []sim.Fault) sim.Result {
	schedule := sim.Schedule{Scenario: st.name, Class: sample.GetName(), Faults: faults}
	k.schedule = schedule.String()
	defer func() { k.schedule = "" }()
	r := k.run(st, sample, schedule)
	if gone := k.host.gone.Load(); gone != nil {
		k.found(gone.property, gone.text)

		return r // what was judged after that means nothing
	}
	for _, v := range r.Violations {
		text := v.Text
		if judgedBy(v.Property) == theRest {
			text = sim.Properties[v.Property] + ", and " + text
		}
		k.found(v.Property, text)
	}

	return r
}

// replay tells one story and its trace.
func (k *kit) replay() {
	schedule, err := sim.ParseSchedule(k.suite.Replay)
	if err != nil {
		k.found("suite-is-complete", "Suite.Replay: "+err.Error())

		return
	}
	for _, sample := range k.suite.Samples {
		for _, st := range k.stories() {
			if st.name == schedule.Scenario && sample.GetName() == schedule.Class {
				r := k.judge(st, sample, schedule.Faults)
				k.note("%s\n%s", schedule, k.legible(strings.Join(r.Trace, "\n")))

				return
			}
		}
	}
	k.found("suite-is-complete", "Suite.Replay: there is no such story: "+k.suite.Replay)
}
