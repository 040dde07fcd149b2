package telemetry

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

const (
	toReconcile = "resource_first_time_to_reconcile_seconds"
	toReadiness = "resource_first_time_to_readiness_seconds"
	deletion    = "resource_deletion_seconds"
	drift       = "resource_drift_seconds"
	changed     = `drifts_total{kind="Bucket.storage.example.org",what="changed"}`
	missing     = `drifts_total{kind="Bucket.storage.example.org",what="missing"}`
)

func TestALifeIsTimed(t *testing.T) {
	h := newRecorderWorld(t)
	mg := made("1")
	h.wait(3 * time.Second)
	h.pass(mg, func() {
		h.wait(time.Second)
		mg.SetConditions(commonv1.Creating(), commonv1.ReconcileSuccess())
	})
	h.expect("creating", map[string]string{
		"resource_exists": "1", "resource_ready": "0", "resource_synced": "1", toReconcile: "1 in 3s",
		toReadiness: "0 in 0s",
	})
	h.wait(time.Minute)
	h.pass(mg, func() { mg.SetConditions(commonv1.Available()) })
	h.pass(mg)
	h.expect("ready", map[string]string{"resource_ready": "1", toReconcile: "1 in 3s", toReadiness: "1 in 64s"})

	h.pass(mg, func() { mg.SetConditions(commonv1.Unavailable(), commonv1.ReconcileError(errors.New("boom"))) })
	h.expect("failing", map[string]string{"resource_exists": "1", "resource_ready": "0", "resource_synced": "0"})
	h.pass(mg, func() { mg.SetConditions(commonv1.Available(), commonv1.ReconcileSuccess()) })
	h.expect("ready again is not the first time", map[string]string{
		"resource_ready": "1", "resource_synced": "1", toReadiness: "1 in 64s",
	})

	mg.SetDeletionTimestamp(new(metav1.NewTime(h.clock.Now())))
	h.wait(7 * time.Second)
	h.pass(mg, func() { mg.SetConditions(commonv1.Deleting()) })
	h.expect("deleting", map[string]string{"resource_exists": "1", "resource_ready": "0", deletion: "0 in 0s"})
	h.Deleted(h.of(mg), mg)
	h.Seen(h.of(mg), mg)
	h.expect("deleted", map[string]string{
		"resource_exists": "0", "resource_ready": "0", "resource_synced": "0", deletion: "1 in 7s",
		toReadiness: "1 in 64s",
	})
	h.objects.Forget(key(mg))
	h.expect("gone", map[string]string{"resource_exists": "0"})
}

// TestRestarts verifies how objects with conditions of an earlier process are counted.
func TestRestarts(t *testing.T) {
	later := start.Add(time.Minute)
	cases := map[string]struct {
		reason     string
		conditions []commonv1.Condition
		want       map[string]string
	}{
		"New": {
			reason: "Nobody has seen it: both times are the first.",
			want:   map[string]string{toReconcile: "1 in 3600s", toReadiness: "1 in 3600s"},
		},
		"Ready": {
			reason:     "It was ready before.",
			conditions: []commonv1.Condition{synced(), at(commonv1.Available(), start), found(later)},
			want:       map[string]string{toReconcile: "0 in 0s", toReadiness: "0 in 0s"},
		},
		"Unready": {
			reason:     "It may have been ready before it was not: nothing tells.",
			conditions: []commonv1.Condition{synced(), at(commonv1.Unavailable(), start)},
			want:       map[string]string{toReconcile: "0 in 0s", toReadiness: "0 in 0s"},
		},
		"Recreated": {
			reason:     "Creating is also what an old one says whose resource has vanished.",
			conditions: []commonv1.Condition{synced(), found(start), at(commonv1.Creating(), later)},
			want:       map[string]string{toReconcile: "0 in 0s", toReadiness: "0 in 0s"},
		},
		"StillCreating": {
			reason:     "Not ready since before it was found: never ready so far.",
			conditions: []commonv1.Condition{synced(), at(commonv1.Creating(), start), found(later)},
			want:       map[string]string{toReconcile: "0 in 0s", toReadiness: "1 in 3600s"},
		},
		"FoundUnready": {
			reason:     "Found and not ready in the same moment: never ready so far.",
			conditions: []commonv1.Condition{synced(), at(commonv1.Creating(), start), found(start)},
			want:       map[string]string{toReconcile: "0 in 0s", toReadiness: "1 in 3600s"},
		},
		"NeverJudged": {
			reason:     "Failing from the beginning, it never said whether it was ready.",
			conditions: []commonv1.Condition{at(commonv1.ReconcileError(errors.New("boom")), start)},
			want:       map[string]string{toReconcile: "0 in 0s", toReadiness: "1 in 3600s"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newRecorderWorld(t)
			h.wait(time.Hour)
			for range 2 {
				mg := made("1", tc.conditions...)
				h.pass(mg, func() { mg.SetConditions(commonv1.Available(), commonv1.ReconcileSuccess()) })
			}
			tc.want["resource_exists"], tc.want["resource_ready"], tc.want["resource_synced"] = "1", "1", "1"
			h.expect(tc.reason, tc.want)
		})
	}
}

func found(t time.Time) commonv1.Condition {
	return at(commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionTrue, Reason: commonv1.ReasonObserved,
	}, t)
}

// TestReadinessIsCountedOnceAcrossRestarts verifies that each process continues with the object that the one before
// left.
func TestReadinessIsCountedOnceAcrossRestarts(t *testing.T) {
	h := newRecorderWorld(t)
	mg := made("1")
	for range 5 {
		h.wait(time.Minute)
		h.pass(mg, func() { mg.SetConditions(at(commonv1.Available(), h.clock.Now()), synced()) })
		h.objects.Clear()
		h.restart()
	}
	h.expect("five processes", map[string]string{
		toReconcile: "1 in 60s", toReadiness: "1 in 60s", "resource_exists": "0",
		"resource_ready": "0",
	})
}

func TestOneNameInTwoNamespaces(t *testing.T) {
	h := newRecorderWorld(t)
	one, two := made("1", commonv1.Available(), synced()), made("2", commonv1.Unavailable(), synced())
	two.Namespace = "elsewhere"
	for range 3 {
		h.pass(one)
		h.pass(two)
	}
	h.expect("both", map[string]string{"resource_exists": "2", "resource_ready": "1", "resource_synced": "2"})
	h.objects.Forget(key(two))
	h.expect("one is gone", map[string]string{"resource_exists": "1", "resource_ready": "1", "resource_synced": "1"})
}

func TestAnotherObjectUnderTheSameName(t *testing.T) {
	h := newRecorderWorld(t)
	old := made("1", commonv1.Available(), synced())
	h.pass(old)
	remembered := h.of(old)
	h.wait(time.Minute)
	fresh := made("2")
	fresh.CreationTimestamp = metav1.NewTime(h.clock.Now())
	h.wait(time.Second)
	h.pass(fresh)
	h.expect("replaced", map[string]string{
		"resource_exists": "1", "resource_ready": "0", "resource_synced": "0",
		toReconcile: "1 in 1s",
	})
	h.Seen(remembered, old)
	h.Compared(remembered, old, Differs)
	h.expect("what is said of the old one is not the new one's", map[string]string{"resource_ready": "0", changed: "0"})
}

// TestClocksMayDisagree verifies that the clock of the API server may be ahead, and that a missing creation time
// does no harm.
func TestClocksMayDisagree(t *testing.T) {
	h := newRecorderWorld(t)
	ahead := made("1")
	ahead.CreationTimestamp = metav1.NewTime(start.Add(time.Hour))
	h.pass(ahead)
	timeless := made("2")
	timeless.Name, timeless.CreationTimestamp = "timeless", metav1.Time{}
	h.pass(timeless)
	h.expect("no time is negative, and none is without a beginning",
		map[string]string{toReconcile: "1 in 0s", "resource_exists": "2"})
}

func failing(generation int64) commonv1.Condition {
	c := commonv1.ReconcileError(errors.New("boom"))
	c.ObservedGeneration = generation

	return c
}

func TestDrift(t *testing.T) {
	// A look is one pass: how long after the last, the object before, and after the pass.
	type look struct {
		after      time.Duration
		generation int64
		findings   []Finding
	}
	cases := map[string]struct {
		reason     string
		conditions []commonv1.Condition
		deleted    bool
		looks      []look
		want       map[string]string
	}{
		"Corrected": {
			reason: "It is timed from the last time it was in sync, and again from when it was corrected.",
			looks: []look{
				{0, 1, []Finding{Same}},
				{time.Minute, 1, []Finding{Same}},
				{time.Minute, 1, []Finding{Differs, Same}},
				{5 * time.Second, 1, []Finding{Differs, Same}},
			},
			want: map[string]string{changed: "2", missing: "0", drift: "2 in 65s"},
		},
		"Lasting": {
			reason: "One that is not corrected is one, however often it is seen.",
			looks: []look{{0, 1, []Finding{Same}}, {time.Minute, 1, []Finding{Differs, Differs}},
				{time.Minute, 1, []Finding{Differs}}},
			want: map[string]string{changed: "1", drift: "1 in 60s"},
		},
		"Vanished": {
			reason: "What is gone has drifted too.",
			looks:  []look{{0, 1, []Finding{Same}}, {time.Minute, 1, []Finding{Missing, Same}}},
			want:   map[string]string{changed: "0", missing: "1", drift: "1 in 60s"},
		},
		"Created": {
			reason: "What was never there is missing because it is new.",
			looks:  []look{{0, 1, []Finding{Missing, Missing}}, {time.Second, 1, []Finding{Differs, Same}}},
			want:   map[string]string{changed: "0", missing: "0", drift: "0 in 0s"},
		},
		"UserChanged": {
			reason: "The user changed what he asks for: nothing drifted, until the next time.",
			looks: []look{
				{0, 1, []Finding{Same}},
				{time.Minute, 2, []Finding{Differs, Same}},
				{time.Minute, 2, []Finding{Differs, Same}},
			},
			want: map[string]string{changed: "1", drift: "1 in 60s"},
		},
		"Restarted": {
			reason:     "The object says that it was in sync: it is counted, but nobody knows since when.",
			conditions: []commonv1.Condition{synced()},
			looks:      []look{{time.Minute, 1, []Finding{Differs, Same}}},
			want:       map[string]string{changed: "1", drift: "0 in 0s"},
		},
		"RestartedAndChanged": {
			reason:     "The object was in sync with what it asked for before.",
			conditions: []commonv1.Condition{synced()},
			looks:      []look{{time.Minute, 2, []Finding{Differs, Same}}},
			want:       map[string]string{changed: "0"},
		},
		"RestartedWhileOutOfSync": {
			reason: "The drift was counted by the process before.",
			conditions: []commonv1.Condition{synced(), {
				Type: commonv1.TypeUpToDate, Status: metav1.ConditionFalse,
				Reason: commonv1.ReasonUpdateRequested,
			}},
			looks: []look{{time.Minute, 1, []Finding{Differs, Same}}},
			want:  map[string]string{changed: "0"},
		},
		"RestartedWhileFailing": {
			reason:     "A pass that failed tells nothing of the resource.",
			conditions: []commonv1.Condition{failing(1)},
			looks:      []look{{time.Minute, 1, []Finding{Missing}}},
			want:       map[string]string{missing: "0"},
		},
		"Deleted": {
			reason:     "That it goes is what was asked for.",
			conditions: []commonv1.Condition{synced()},
			deleted:    true,
			looks:      []look{{time.Minute, 1, []Finding{Differs, Missing}}},
			want:       map[string]string{changed: "0", missing: "0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newRecorderWorld(t)
			for _, l := range tc.looks {
				h.wait(l.after)
				mg := made("1", tc.conditions...)
				mg.Generation = l.generation
				if tc.deleted {
					mg.DeletionTimestamp = new(metav1.NewTime(start))
				}
				h.pass(mg, func() {
					for _, f := range l.findings {
						h.Compared(h.of(mg), mg, f)
					}
				})
			}
			h.expect(tc.reason, tc.want)
		})
	}
}

// TestChanging verifies what is reported about the reason of a change: which drift was counted, and whether the same
// change was made before.
func TestChanging(t *testing.T) {
	type facts struct {
		Drift Finding
		Again bool
	}
	// An event is an observation, or else a change.
	type event struct {
		generation int64
		found      *Finding
		change     Step
		want       facts
	}
	found := func(generation int64, f Finding) event { return event{generation: generation, found: &f} }
	call := func(generation int64, s Step, drift Finding, again bool) event {
		return event{generation: generation, change: s, want: facts{drift, again}}
	}
	for name, tc := range map[string]struct {
		reason string
		events []event
	}{
		"Created": {"nothing was there", []event{found(1, Missing), call(1, Create, Same, false)}},
		"Drifted": {
			"a drift has one answer", []event{
				found(1, Same), found(1, Differs), call(1, Update, Differs, false), found(1, Differs),
				call(1, Update, Same, true), found(1, Same), found(1, Differs), call(1, Update, Differs, false),
			},
		},
		"Missing": {
			"a failed Create is repeated", []event{
				found(1, Same), found(1, Missing), call(1, Create, Missing, false), found(1, Missing),
				call(1, Create, Same, true),
			},
		},
		"AnsweredLater": {
			"a drift that was not answered at once", []event{
				found(1, Same), found(1, Differs), found(1, Differs), call(1, Update, Differs, false),
			},
		},
		"SpecChanged": {
			"the spec is the reason now", []event{
				found(1, Same), found(1, Differs), found(2, Differs), call(2, Update, Same, false), found(3, Differs),
				call(3, Update, Same, false),
			},
		},
		"CreateHadEffect": {
			"what exists was created", []event{
				call(1, Create, Same, false), found(1, Differs), call(1, Update, Same, false), found(1, Missing),
				call(1, Create, Same, false),
			},
		},
		"Deleted": {"the second is a repetition", []event{call(1, Delete, Same, false), call(1, Delete, Same, true)}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newRecorderWorld(t)
			for i, e := range tc.events {
				mg := made("1")
				mg.Generation = e.generation
				h.pass(mg, func() {
					if e.found != nil {
						h.Compared(h.of(mg), mg, *e.found)

						return
					}
					var got facts
					if got.Drift, got.Again = h.of(mg).Changing(e.change, e.generation); got != e.want {
						t.Errorf("%s: event %d: %+v, want %+v", tc.reason, i, got, e.want)
					}
				})
			}
		})
	}
}

// TestNothingGrows verifies that memory does not grow with 100,000 objects that come and go: some are deleted by
// us, some vanish, some are replaced under their name, and some end in errors.
func TestNothingGrows(t *testing.T) {
	h := newRecorderWorld(t)
	live := func(i int) *fake.Managed {
		mg := made(fmt.Sprint("uid-", i))
		mg.Name = fmt.Sprint("bucket-", i/2*2) // every other one replaces its neighbour
		h.pass(mg, func() {
			h.Compared(h.of(mg), mg, Same)
			h.Compared(h.of(mg), mg, Differs)
			mg.SetConditions(commonv1.Available(), synced())
		})
		h.Terminal(fmt.Sprint("Failed", i))

		return mg
	}
	end := func(i int, mg *fake.Managed) {
		if i%3 == 0 {
			mg.SetDeletionTimestamp(new(metav1.NewTime(start)))
			h.Deleted(h.of(mg), mg)
		}
		h.objects.Forget(key(mg))
	}
	for i := range 1000 {
		end(i, live(i))
	}
	before := slices.Sorted(maps.Keys(h.series()))
	for i := 1000; i < 100_000; i++ {
		mg := live(i)
		if i%2 == 1 {
			end(i, mg)
		}
	}
	if diff := cmp.Diff(before, slices.Sorted(maps.Keys(h.series()))); diff != "" {
		t.Errorf("series: -before, +after:\n%s", diff)
	}
	h.expect("all are gone", map[string]string{"resource_exists": "0", "resource_ready": "0", "resource_synced": "0"})
}

func TestManyPassesAtATime(t *testing.T) {
	h := newRecorderWorld(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 200 {
				mg := made(fmt.Sprint(i, "/", j))
				mg.Name = fmt.Sprint("bucket-", i)
				h.pass(mg, func() {
					_, call := h.Step(t.Context(), Observe)
					call.End(nil)
					h.Compared(h.of(mg), mg, Same)
					h.Wrote(Status, true)
					mg.SetConditions(commonv1.Available())
				})
			}
		})
	}
	all.Wait()
	h.expect("the last of each name", map[string]string{
		"resource_exists": "8", "resource_ready": "8", toReconcile: "1600 in 0s", toReadiness: "1600 in 0s",
		`passes_total{kind="Bucket.storage.example.org",outcome="kept"}`: "1600",
		`passes_in_flight{kind="Bucket.storage.example.org"}`:            "0",
	})
}
