package managed_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A causeWorld is the story of an object, from its creation to its deletion. The process ends at one of the steps of
// the story: before a request to the API server, before or after a call of the cloud, or before an entry is recorded.
type causeWorld struct {
	*world

	crashAt, step int
	crashed       bool   // in the present chapter
	forgot        bool   // in the chapter before
	dead          bool   // the process has ended, and only its deferred functions run
	fail          string // a call that fails
	registry      *prometheus.Registry
	entries       []changelog.Entry
	changes       int // calls of the present pass that change the cloud
}

func newCauseWorld(t *testing.T, crashAt int, prepare func(*volume.Cloud), o ...managed.ReconcilerOption) *causeWorld {
	t.Helper()
	w := &causeWorld{crashAt: crashAt, registry: prometheus.NewRegistry()}
	sink := changelog.SinkFunc(func(_ context.Context, e changelog.Entry) error {
		if w.mayCrash(); !w.dead {
			w.entries = append(w.entries, e)
		}

		return nil
	})
	w.world = newWorld(t, append(o, managed.WithCreationGracePeriod(0), managed.WithChangeLog(sink),
		managed.WithMetricsRegisterer(w.registry))...)
	prepare(w.cloud)
	w.answer = func(context.Context, string) error { w.mayCrash(); return nil }
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		w.mayCrash()
		if changing := slices.Contains([]string{"Create", "Update", "Delete"}, call); changing {
			w.changes++
		}
		if call == w.fail {
			return external.NotCreated(errors.New("no quota"))
		}

		return nil
	}
	w.cloud.After = func(context.Context, string, resource.Managed) error { w.mayCrash(); return nil }

	return w
}

// mayCrash ends the process at its step.
func (w *causeWorld) mayCrash() {
	if w.dead {
		return
	}
	if w.step++; w.step == w.crashAt {
		w.dead, w.crashed = true, true
		panic(processEnd{})
	}
}

// passes makes passes until the object rests, in a new process after a crash. Each change of a pass has an entry.
func (w *causeWorld) passes() {
	w.Helper()
	for range 4 {
		before := len(w.entries)
		w.clock.SetTime(w.clock.Now().Add(time.Hour)) // absences have to last
		w.changes = 0
		func() {
			defer func() { _ = recover() }()
			_, _ = w.try()
		}()
		if w.dead {
			w.dead = false
			w.restart()

			continue
		}
		if got := len(w.entries) - before; got != w.changes {
			w.Errorf("%d changes, and %d entries", w.changes, got)
		}
	}
}

// chapter lets something happen, and verifies the causes of the entries that follow.
func (w *causeWorld) chapter(name string, first changelog.Cause, n int, happens func()) {
	w.Helper()
	w.entries, w.forgot, w.crashed = nil, w.crashed, false
	happens()
	w.passes()
	if len(w.entries) != n && !w.crashed {
		w.Errorf("%s: %d entries, want %d", name, len(w.entries), n)
	}
	for i, e := range w.entries {
		want := []changelog.Cause{first}
		if i > 0 {
			want[0] = changelog.CauseRetry
		}
		if w.crashed { // the new process may not know whether the former one made the call
			want = append(want, first, changelog.CauseRetry)
		}
		if (w.forgot || w.crashed) && e.Operation == changelog.OperationDelete { // the object has no record of a Delete
			want = append(want, changelog.CauseDeleted)
		}
		if !slices.Contains(want, e.Cause) {
			w.Errorf("%s: entry %d has the cause %q, want %q", name, i, e.Cause, want)
		}
	}
}

// story makes all chapters.
func (w *causeWorld) story() {
	w.Helper()
	size := func(gib int64) func() { return func() { w.change(func(v *volume.Volume) { v.Spec.SizeGiB = gib }) } }
	w.chapter("a created resource", changelog.CauseCreated, 1, func() { w.create(nil) })
	w.chapter("a change of the spec", changelog.CauseSpec, 1, size(2))
	w.chapter("a change by others", changelog.CauseDrift, 1, func() {
		d := w.cloud.Disks()[0]
		d.SizeGiB = 50
		w.cloud.Put(d)
	})
	w.chapter("a deletion by others", changelog.CauseMissing, 1, func() { w.cloud.Remove(w.cloud.Disks()[0].ID) })
	w.chapter("updates that fail", changelog.CauseSpec, 4, func() { w.fail = "Update"; size(3)() })
	w.chapter("the update after them", changelog.CauseRetry, 1, func() { w.fail = "" })
	w.chapter("a deletion that fails", changelog.CauseDeleted, 4, func() { w.fail = "Delete"; w.delete() })
	w.chapter("the deletion after it", changelog.CauseRetry, 1, func() { w.fail = "" })
	if !w.gone() || len(w.cloud.Disks()) != 0 {
		w.Errorf("gone %t, disks %v", w.gone(), w.cloud.Disks())
	}
}

// TestCausesOfAStory verifies the causes of all changes of an object, also if the process ends at any step.
func TestCausesOfAStory(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*volume.Cloud)
		options []managed.ReconcilerOption
	}{
		"named": {
			func(c *volume.Cloud) { c.Named = true }, []managed.ReconcilerOption{managed.WithDeterministicExternalName(true)},
		},
		"token": {
			func(c *volume.Cloud) { c.Tokens = true },
			[]managed.ReconcilerOption{managed.WithCreationTokens()},
		},
	} {
		steps := 0
		for at := 0; at <= steps; at++ {
			t.Run(fmt.Sprintf("%s/%d", name, at), func(t *testing.T) {
				w := newCauseWorld(t, at, tc.prepare, tc.options...)
				if w.story(); at == 0 {
					steps = w.step
				}
			})
		}
		if steps < 50 {
			t.Errorf("%s: %d steps, want all of the story", name, steps)
		}
	}
}

// TestEntriesAgreeWithTheMetric verifies that the causes drift and missing are those that the metric counts.
func TestEntriesAgreeWithTheMetric(t *testing.T) {
	w := newCauseWorld(t, 0, func(c *volume.Cloud) { c.Named = true }, managed.WithDeterministicExternalName(true))
	causes := map[changelog.Cause]int{}
	happens := func(what func()) {
		what()
		w.entries = nil
		w.passes()
		for _, e := range w.entries {
			causes[e.Cause]++
		}
	}
	tampered := func() { w.cloud.Put(volume.Disk{ID: w.cloud.Disks()[0].ID, SizeGiB: 50}) }
	happens(func() { w.create(nil) })
	happens(tampered)
	happens(func() { w.fail = "Update"; tampered() })
	happens(func() { w.fail = "" })
	happens(func() { w.cloud.Remove(w.cloud.Disks()[0].ID) })
	happens(func() { w.fail = "Create"; w.cloud.Remove(w.cloud.Disks()[0].ID) })
	happens(func() { w.fail = "" })
	happens(func() { w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 9 }); tampered() })

	want := map[changelog.Cause]int{
		changelog.CauseCreated: 1, changelog.CauseDrift: 2, changelog.CauseMissing: 2, changelog.CauseSpec: 1,
		changelog.CauseRetry: 8, // three of four that fail, and one that does not, twice
	}
	if diff := cmp.Diff(want, causes); diff != "" {
		t.Errorf("causes: -want, +got:\n%s", diff)
	}
	counted := map[string]int{"changed": causes[changelog.CauseDrift], "missing": causes[changelog.CauseMissing]}
	if diff := cmp.Diff(counted, w.drifts()); diff != "" {
		t.Errorf("drifts: -entries, +metric:\n%s", diff)
	}
}

// drifts returns the values of the metric of drifts.
func (w *causeWorld) drifts() map[string]int {
	w.Helper()
	families, err := w.registry.Gather()
	w.Must(err)
	out := map[string]int{}
	for _, family := range families {
		if family.GetName() != "moorage_managed_drifts_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "what" {
					out[label.GetValue()] += int(m.GetCounter().GetValue())
				}
			}
		}
	}

	return out
}

// concealed is a secret that becomes known during an Update.
const concealed = "correct horse battery staple"

// TestDifferencesInTheChangeLog verifies that the entry of an Update has the differences that the observation found,
// and no value of a sensitive field.
func TestDifferencesInTheChangeLog(t *testing.T) {
	w := newCauseWorld(t, 0, func(*volume.Cloud) {})
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return nameDifferences{c} })
	w.create(nil)
	w.pass()
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	w.cloud.Before = func(ctx context.Context, _ string, _ resource.Managed) error {
		if w.cloud.Count("Update") > 0 { // the call learns a secret
			redact.Conceal(ctx, []byte(concealed))
		}

		return nil
	}
	w.pass()
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 3 }) // it differs when it is deleted
	w.delete()
	w.pass()
	type entry struct {
		Operation   changelog.Operation
		Cause       changelog.Cause
		Generation  int64
		Differences []commonv1.Difference
	}
	var got []entry
	for _, e := range w.entries {
		got = append(got, entry{e.Operation, e.Cause, e.Generation, e.Differences})
	}
	want := []entry{
		{changelog.OperationCreate, changelog.CauseCreated, 1, nil},
		{changelog.OperationUpdate, changelog.CauseSpec, 2, []commonv1.Difference{
			{Path: "note", Observed: `"[REDACTED]"`}, {Path: "password", Sensitive: true},
			{Path: "sizeGiB", Desired: "2", Observed: "1"},
		}},
		{changelog.OperationDelete, changelog.CauseDeleted, 3, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A nameDifferences client names the fields that differ, with a secret that is not declared as one.
type nameDifferences struct{ managed.ExternalClient }

func (d nameDifferences) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := d.ExternalClient.Observe(ctx, mg)
	if o.ResourceExists && !o.ResourceUpToDate {
		o.Differences = []commonv1.Difference{
			{Path: "sizeGiB", Desired: "2", Observed: "1"}, {Path: "password", Desired: `"hunter2"`, Observed: `"x"`},
			{Path: "note", Observed: `"` + concealed + `"`},
		}
	}

	return o, err
}
