package managed_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	gocmp "github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// Uncovered is what the test suites of other runtimes leave out, and what tests
// it here. Names with a dot are tests of other packages.
var uncovered = []struct {
	what  string
	tests []string
}{
	{"every conflict, and the state it leaves behind", []string{
		"TestAConflictLeavesNoTrace", "TestExits", "TestConflictsAreSilentForAWhile", "TestEveryWriteMayConflict",
		"TestWhatACreateMayAnswer",
	}},
	{"a cache that lags behind writes", []string{"TestAStaleCache",
		"systemtest.TestNoPassStartsBeforeOurLastWrite"}},
	{"a context that is cancelled during Create and other calls", []string{
		"TestAResultSurvivesAShutdown", "TestNoCreationBeginsInAShutdown", "TestAShutdownIsNoFailureOfTheObject",
	}},
	{"events: type, reason, number, messages with a percent sign, none where nothing happens", []string{
		"TestExits", "TestAnExitThatIsTakenAgainTellsNothingNew", "TestTextsAreNoFormats",
		"TestRequestBudgetOfALifecycle",
	}},
	{"how many requests each path takes", []string{"TestRequestBudgetOfALifecycle", "TestExits",
		"systemtest.TestRequestBudget"}},
	{"deletion: with an unresolved creation, paused, within the grace period, with finalizers of others", []string{
		"TestAnUnresolvedCreationStaysUntilItIsAbandoned", "TestPolicies", "TestADeletionInsideTheWindow",
		"TestOthersFinalizersDelayTheDeletion",
	}},
	{"unknown policies, and what is missing and may not be created",
		[]string{"TestPolicies", "TestExits", "TestEveryPolicy"}},
	{"marks of the same second, that are no times, and of the future",
		[]string{"attempt.TestMarks", "TestMarksThroughAPass", "FuzzAnnotations", "meta.TestExternalCreateIncomplete"}},
	{"finalizers that are listed twice, annotations that are shared",
		[]string{"TestAFinalizerThatIsListedTwice", "meta.TestFinalizers", "meta.TestNothingIsShared"}},
	{"what is filled in together with an update and a status",
		[]string{"TestWhatIsFilledInGoesWithTheRest", "TestWhatObserveFillsInIsStoredOnce"}},
	{"time that is up, and disconnecting once", []string{
		"TestACallThatHangsLeavesTimeForTheStatus", "TestDisconnectIsCalledOnceAfterConnect",
		"TestAStatusIsWrittenWhenTimeIsUp",
	}},
	{"jitter and hooks that return nothing or less", []string{"TestIntervals", "TestIntervalsThatOverflow"}},
	{"limiters: success is not delayed, back-off is kept, nothing grows, many at a time", []string{
		"ratelimiter.TestGlobalExponential", "ratelimiter.TestKeepBackOff",
		"ratelimiter.TestGlobalExponentialKeepsNothing",
		"ratelimiter.TestGoneObjectsAreDropped", "ratelimiter.TestOnePassPerTurn",
	}},
	{"the time of a transition when only the message differs",
		[]string{"TestAnotherMessageIsNoTransition", "v1.TestSetConditions"}},
	{"metrics: durations, nothing left of the dead, one name in two namespaces", []string{
		"telemetry.TestEachCallIsTimedFromItsOwnStart", "telemetry.TestNothingGrows",
		"telemetry.TestOneNameInTwoNamespaces", "TestNothingGrowsWithObjects",
	}},
}

// TestNothingIsUncovered looks for the tests.
func TestNothingIsUncovered(t *testing.T) {
	if len(uncovered) != 15 {
		t.Errorf("%d items, want 15", len(uncovered))
	}
	known := testNames(t, ".", "internal/attempt", "internal/telemetry", "../../meta", "../../ratelimiter",
		"../../../apis/common/v1", "../../../internal/systemtest")
	for _, item := range uncovered {
		for _, name := range item.tests {
			if !known[name] {
				t.Errorf("%s: there is no %s", item.what, name)
			}
		}
	}
}

// stations are all steps of a lifecycle that may end in a conflict.
var stations = map[string]func(w *world, conflicting func() error){
	"Connect": func(w *world, c func() error) { w.cloud.Before = onCall("Connect", c) },
	"Observe": func(w *world, c func() error) { w.cloud.Before = onCall("Observe", c) },
	"Create": func(w *world, c func() error) {
		w.cloud.Before = onCall("Create", func() error { return external.NotCreated(c()) })
	},
	"Update":   func(w *world, c func() error) { w.cloud.Before = onCall("Update", c) },
	"Delete":   func(w *world, c func() error) { w.cloud.Before = onCall("Delete", c) },
	"Intent":   func(w *world, c func() error) { w.answer = onWrite("external-create-pending", c) },
	"Result":   func(w *world, c func() error) { w.answer = onWrite("external-create-succeeded", c) },
	"FilledIn": func(w *world, c func() error) { w.answer = onWrite(`"tier"`, c) },
	"Status":   func(w *world, c func() error) { w.answer = onWrite(`"status":`, c) },
	"LetGo":    func(w *world, c func() error) { w.answer = onWrite(`"finalizers":[]`, c) },
	"AddFinalizer": func(w *world, c func() error) {
		w.o = append(w.o, conflictingFinalizer{resource.NewAPIFinalizer(w.API, managed.FinalizerName), c, nil}.option())
		w.restart()
	},
	"RemoveFinalizer": func(w *world, c func() error) {
		w.o = append(w.o, conflictingFinalizer{resource.NewAPIFinalizer(w.API, managed.FinalizerName), nil, c}.option())
		w.restart()
	},
}

func onCall(call string, answer func() error) func(context.Context, string, resource.Managed) error {
	return func(_ context.Context, c string, _ resource.Managed) error {
		if c == call {
			return answer()
		}

		return nil
	}
}

func onWrite(marker string, answer func() error) func(context.Context, string) error {
	return func(_ context.Context, note string) error {
		if strings.Contains(note, marker) {
			return answer()
		}

		return nil
	}
}

// A conflictingFinalizer answers before it does its work.
type conflictingFinalizer struct {
	resource.Finalizer

	add, remove func() error
}

func (f conflictingFinalizer) option() managed.ReconcilerOption { return managed.WithFinalizer(f) }

func (f conflictingFinalizer) AddFinalizer(ctx context.Context, o resource.Object) error {
	if f.add != nil {
		if err := f.add(); err != nil {
			return err
		}
	}

	return f.Finalizer.AddFinalizer(ctx, o)
}

func (f conflictingFinalizer) RemoveFinalizer(ctx context.Context, o resource.Object) error {
	if f.remove != nil {
		if err := f.remove(); err != nil {
			return err
		}
	}

	return f.Finalizer.RemoveFinalizer(ctx, o)
}

// TestAConflictLeavesNoTrace leads a life with conflicts at each station, and
// compares it with one that had none.
func TestAConflictLeavesNoTrace(t *testing.T) {
	for name, arrange := range stations {
		t.Run(name, func(t *testing.T) {
			undisturbed, _ := lead(t, arrange, 0)
			disturbed, answered := lead(t, arrange, 3)
			if answered != 3 {
				t.Errorf("%d conflicts, want 3", answered)
			}
			if d := gocmp.Diff(undisturbed, disturbed); d != "" {
				t.Errorf("-undisturbed, +disturbed:\n%s", d)
			}
		})
	}
}

// lead a life in which a station conflicts so many times in all, and say what
// was seen of it at its turns.
func lead(t *testing.T, arrange func(*world, func() error), conflicts int) (turns []string, answered int) {
	t.Helper()
	w := newWorld(t)
	w.clock.SetTime(moment)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return filling{c} })
	arrange(w, func() error {
		if answered >= conflicts {
			return nil
		}
		answered++

		return conflict()
	})
	rest := func() {
		t.Helper()
		for range 6 {
			if _, err := w.try(); err != nil {
				t.Errorf("error %v", err)
			}
		}
		_, _, events := w.taken()
		disks := w.cloud.Disks()
		for i := range disks {
			disks[i].Token = "" // which has the number of attempts
		}
		turns = append(turns, "events "+events, fmt.Sprintf("disks %v", disks))
		if w.gone() {
			turns = append(turns, "gone")

			return
		}
		v := w.get()
		turns = append(turns, fmt.Sprintf("name %s, spec %+v, finalizers %v, ready %s, synced %s",
			meta.GetExternalName(v), v.Spec, v.Finalizers,
			shown(v.GetCondition("Ready")), shown(v.GetCondition("Synced"))))
	}
	w.create(nil)
	rest()
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	rest()
	w.delete()
	w.clock.SetTime(moment.Add(time.Hour))
	rest()

	return turns, answered
}

// TestAStaleCache reads from a cache that shows what was stored some time ago.
func TestAStaleCache(t *testing.T) {
	for _, lag := range []time.Duration{20 * time.Millisecond, 60 * time.Millisecond, 200 * time.Millisecond,
		5 * time.Second} {
		t.Run(lag.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.create(nil)
				seen := w.readBehind(lag)
				for range 4 {
					if result := w.pass(); result.RequeueAfter == 0 {
						t.Errorf("a pass began on a version that is older than our own last write: %v", result)
					}
				}
				if got := meta.GetExternalName(w.get()); got != "vol-1" || len(w.cloud.Disks()) != 1 {
					t.Errorf("external name %q, disks %v", got, w.cloud.Disks())
				}
				w.condition("Ready", "True/Available")
				w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
				seen()
				w.pass()
				w.delete()
				seen()
				w.pass()
				seen()
				w.pass()
				if _, calls, _ := w.taken(); !w.gone() || mutating(calls) != "Create Update Delete" {
					t.Errorf("gone %t, calls %s", w.gone(), calls)
				}
			})
		})
	}
}

// mutating returns the calls that change something.
func mutating(calls string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(calls),
		func(c string) bool { return c == "Connect" || c == "Observe" }), " ")
}

// readBehind makes the cache show what was stored some time ago, and returns what
// waits until it shows what is stored now. Time is that of a bubble.
func (w *world) readBehind(lag time.Duration) (seen func()) {
	type version struct {
		shows time.Time
		v     *volume.Volume
	}
	var stored []version
	note := func() {
		v := &volume.Volume{}
		if err := w.API.Get(w.Context(), key, v); err != nil {
			v = nil
		}
		stored = append(stored, version{time.Now().Add(lag), v})
	}
	cache := interceptor.NewClient(w.API, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object,
			_ ...client.GetOption) error {
			var shown *volume.Volume
			for _, s := range stored {
				if !s.shows.After(time.Now()) {
					shown = s.v
				}
			}
			if shown == nil {
				return kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, key.Name)
			}
			*o.(*volume.Volume) = *copyOf(shown) // the world holds volumes only

			return nil
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			defer note()

			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			defer note()

			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	manager := &fake.Manager{Client: cache, Scheme: w.API.Scheme()}
	w.r = managed.NewReconciler(manager, volume.Kind,
		append([]managed.ReconcilerOption{managed.WithCluster(reader{manager, w.API})}, w.o...)...)
	seen = func() {
		note()
		<-time.After(lag)
	}
	seen()

	return seen
}

// TestTextsAreNoFormats has a text in an error that would be one.
func TestTextsAreNoFormats(t *testing.T) {
	const text = "GET /a%20b 100% %s %d %!v(MISSING)"
	var log strings.Builder
	w := newWorld(t, managed.WithLogger(logging.NewLogrLogger(funcr.New(
		func(prefix, args string) { log.WriteString(prefix + args + "\n") }, funcr.Options{Verbosity: 10}))))
	w.create(nil)
	w.cloud.Before = failing("Observe", errors.New(text))
	_, err := w.try()
	want := "observe failed: " + text
	if err == nil || err.Error() != want {
		t.Errorf("error %q", err)
	}
	if c := w.get().GetCondition("Synced"); c.Message != want {
		t.Errorf("condition %q", c.Message)
	}
	if len(w.events) != 1 || w.events[0].Message != want {
		t.Errorf("events %+v", w.events)
	}
	if !strings.Contains(log.String(), want) {
		t.Errorf("log %q", log.String())
	}
}

// TestMarksThroughAPass has marks as other processes and other clocks leave them,
// and nothing outside.
func TestMarksThroughAPass(t *testing.T) {
	at := func(d time.Duration) string { return moment.Add(d).Format(time.RFC3339) }
	pending, succeeded, broken := meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyExternalCreateFailed
	cases := map[string]struct {
		reason string
		marks  []string
		calls  string // those that change something, of two passes with an hour between them
		reads  string // the reason of Synced in the end
	}{
		"Failed": {"a creation that failed in the second in which it was begun is repeated",
			[]string{pending, at(0), broken, at(0)}, "Create", "ReconcileSuccess"},
		"FailedBefore": {"one that was begun after a failure is not",
			[]string{pending, at(time.Second), broken, at(0)}, "", "ReconcileError"},
		"Succeeded": {"one that succeeded and was never seen is not",
			[]string{pending, at(0), succeeded, at(0)}, "", "CreationUnresolved"},
		"Future": {"one that will have succeeded is not",
			[]string{pending, at(0), succeeded, at(1e6 * time.Hour)}, "", "CreationUnresolved"},
		"PendingInFuture": {"one that will be begun is unresolved now", []string{pending, at(1e6 * time.Hour)}, "",
			"ReconcileError"},
		"NoTime": {"what is no time was never begun", []string{pending, "yesterday"}, "Create",
			"ReconcileSuccess"},
		"SucceededNoTime": {"nor did it succeed", []string{pending, at(0), succeeded, "yes"}, "", "ReconcileError"},
		"OtherZone": {"a time is one in every zone",
			[]string{pending, "2026-01-02T05:04:05+02:00", broken, at(0)}, "Create", "ReconcileSuccess"},
		"AttemptThatLacks": {"an attempt that says nothing is unresolved",
			[]string{pending, at(0), broken, at(0), meta.AnnotationKeyCreateAttempt, "a"}, "", "ReconcileError"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.clock.SetTime(moment)
			object(tc.marks...)(w)
			w.pass()
			w.clock.SetTime(moment.Add(time.Hour))
			w.pass()
			if _, calls, _ := w.taken(); mutating(calls) != tc.calls {
				t.Errorf("%s: calls %q, want %q", tc.reason, mutating(calls), tc.calls)
			}
			if got := string(w.get().GetCondition("Synced").Reason); got != tc.reads {
				t.Errorf("%s: synced %s, want %s", tc.reason, got, tc.reads)
			}
		})
	}
}

// TestAFinalizerThatIsListedTwice goes as one.
func TestAFinalizerThatIsListedTwice(t *testing.T) {
	w := newWorld(t)
	w.cloud.Put(volume.Disk{ID: "vol-7", SizeGiB: 1})
	w.create(func(v *volume.Volume) {
		v.Finalizers = []string{managed.FinalizerName, "foregroundDeletion", managed.FinalizerName,
			managed.FinalizerName}
		meta.SetExternalName(v, "vol-7")
	})
	w.pass()
	w.delete()
	w.pass()
	if v := w.get(); len(v.Finalizers) != 1 || v.Finalizers[0] != "foregroundDeletion" || len(w.cloud.Disks()) != 0 {
		t.Errorf("finalizers %v, disks %v", v.Finalizers, w.cloud.Disks())
	}
}

// TestWhatIsFilledInGoesWithTheRest has all there is to write in one pass: what
// was filled in, the finalizer, an update and a status.
func TestWhatIsFilledInGoesWithTheRest(t *testing.T) {
	w := newWorld(t)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return filling{c} })
	w.cloud.Put(volume.Disk{ID: "vol-7", SizeGiB: 9, UsedBytes: 3})
	w.create(func(v *volume.Volume) { meta.SetExternalName(v, "vol-7") })
	w.pass()
	w.expect("patch, patch status", "Connect Observe Update Observe", "Normal/UpdatedExternalResource")
	v := w.get()
	if v.Spec.Tier != "standard" || v.Status.UsedBytes != 3 || v.Status.SizeGiB != 1 ||
		!meta.FinalizerExists(v, managed.FinalizerName) {
		t.Errorf("spec %+v, status %+v, finalizers %v", v.Spec, v.Status, v.Finalizers)
	}
	w.condition("Ready", "True/Available")
	w.condition("Synced", "True/ReconcileSuccess")
}

// TestACallThatHangsLeavesTimeForTheStatus lets each call hang until its context
// ends.
func TestACallThatHangsLeavesTimeForTheStatus(t *testing.T) {
	for call, stage := range stages {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disconnected := 0
				w := newWorld(t, managed.WithTimeout(10*time.Second))
				w.o = append(w.o, managed.WithExternalConnectDisconnecter(managed.ExternalConnectDisconnecterFns{
					ConnectFn: w.cloud.Connect, DisconnectFn: func(ctx context.Context) error {
						disconnected++

						return ctx.Err()
					},
				}))
				w.restart()
				w.create(nil)
				if stage.arrange != nil {
					stage.arrange(w)
				}
				disconnected = 0
				w.cloud.Before = func(ctx context.Context, c string, _ resource.Managed) error {
					if c != call {
						return nil
					}
					<-ctx.Done()

					return ctx.Err()
				}
				began := time.Now()
				_, err := w.try()
				if took := time.Since(began); took != 10*time.Second || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v after %s", err, took)
				}
				if c := w.get().GetCondition("Synced"); !strings.HasPrefix(c.Message, stage.prefix) {
					t.Errorf("condition %+v", c)
				}
				if want := map[bool]int{true: 0, false: 1}[call == "Connect"]; disconnected != want {
					t.Errorf("disconnected %d times, want %d", disconnected, want)
				}
			})
		})
	}
}

// TestAnotherMessageIsNoTransition fails in two ways, and then not at all.
func TestAnotherMessageIsNoTransition(t *testing.T) {
	w := newWorld(t)
	w.clock.SetTime(moment)
	w.create(nil)
	since := func() time.Time { return w.get().GetCondition("Synced").LastTransitionTime.UTC() }
	for i, text := range []string{"boom", "bang", "crash"} {
		w.clock.SetTime(moment.Add(time.Duration(i) * time.Minute))
		w.cloud.Before = failing("Observe", errors.New(text))
		_, _ = w.try()
		if c := w.get().GetCondition("Synced"); c.Message != "observe failed: "+text || !since().Equal(moment) {
			t.Errorf("condition %q since %s", c.Message, since())
		}
	}
	w.cloud.Before = nil
	w.clock.SetTime(moment.Add(time.Hour))
	w.pass()
	if !since().Equal(moment.Add(time.Hour)) {
		t.Errorf("synced since %s", since())
	}
}
