package managed

import (
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// madeWith returns a reconciler as authors make it, of a kind that means nothing.
func madeWith(o ...ReconcilerOption) *Reconciler {
	scheme := runtime.NewScheme()
	of := fake.GVK(&fake.Managed{})
	scheme.AddKnownTypeWithName(of, &fake.Managed{})

	return NewReconciler(&fake.Manager{Scheme: scheme}, resource.ManagedKind(of), append([]ReconcilerOption{
		WithMetricsRegisterer(prometheus.NewRegistry()),
	}, o...)...)
}

// TestWhatIsRememberedCanBePutBack verifies that a snapshot of the memory can be restored: objects that are not in
// it are forgotten.
func TestWhatIsRememberedCanBePutBack(t *testing.T) {
	h := &objectstate.Handle{}
	r := madeWith(WithObjectStates(h))
	troubled, well, late := types.NamespacedName{Name: "troubled"}, types.NamespacedName{Name: "well"},
		types.NamespacedName{Name: "late"}
	o := r.objects.Of(troubled, "uid-1").acquire(r.objects.unused)
	o.Version, o.Backoffs = "5", 3
	o.recordWrite(map[string]any{"key": "value"})
	r.objects.Of(well, "uid-2").Known = true
	want := map[objectstate.Key]objectstate.Record{
		{Object: troubled, UID: "uid-1"}: {
			State:   objectstate.State{Object: objectstate.Object{Version: "5", PendingEcho: true}},
			Cold:    &objectstate.Cold{Retries: objectstate.Retries{Backoffs: 3}},
			Written: map[string][]string{"key": {"value"}},
		},
		{Object: well, UID: "uid-2"}: {State: objectstate.State{Object: objectstate.Object{Known: true}}},
	}
	taken := h.Snapshot()
	if diff := cmp.Diff(want, taken); diff != "" {
		t.Fatalf("taken: -want, +got:\n%s", diff)
	}
	o.Backoffs = 9
	r.objects.Of(late, "uid-3")
	h.Restore(taken)
	if diff := cmp.Diff(want, h.Snapshot()); diff != "" {
		t.Errorf("put back: -want, +got:\n%s", diff)
	}
	if o := r.objects.Of(well, "uid-2"); o.coldState != nil {
		t.Error("of an object with which all is well there are troubles")
	}
	if o := r.objects.Of(troubled, "uid-1"); o.coldState == nil || o.Backoffs != 3 || !o.isOwnEcho("key", "value") {
		t.Error("what was put back is not what the next pass finds")
	}
}

// TestReconcilerIsFreed verifies that the first garbage collection frees a reconciler that is no longer used, although
// its passes shared a sync.Pool.
func TestReconcilerIsFreed(t *testing.T) {
	used := func() weak.Pointer[Reconciler] {
		r := madeWith()
		o := r.objects.Of(types.NamespacedName{Name: "first"}, "uid-1").acquire(r.objects.unused)
		o.release(r.objects.unused)

		return weak.Make(r)
	}()
	goruntime.GC()
	if used.Value() != nil {
		t.Error("a reconciler without a user is still in memory after a garbage collection")
	}
}

// TestWritingNothingIsNoWrite verifies that a pass without a write expects no event of its own.
func TestWritingNothingIsNoWrite(t *testing.T) {
	var unused sync.Pool
	o := (&objectState{}).acquire(&unused)
	o.recordWrite(map[string]any{"key": "value"})
	o.release(&unused)
	o.recordWrite(nil)
	o.release(&unused)
	if o.written.values != nil {
		t.Errorf("%v is still expected", o.written.values)
	}
}

// TestWhoIsGoneGivesUpItsTurn verifies that the reservation of an object that is gone is canceled once.
func TestWhoIsGoneGivesUpItsTurn(t *testing.T) {
	turns := func(leaves func(*objectState)) time.Duration {
		clock := testclock.NewFakeClock(noon)
		gate := gates.New(gates.WithRate(1, 1, 1), gates.WithMaxWait(0), gates.WithClock(clock))
		ask := func(object string) time.Duration {
			release, err := gate.Acquire(t.Context(), gates.Request{Object: object})
			if err == nil {
				release(nil)

				return 0
			}
			after, _ := external.AsRetryAfter(err)

			return after
		}
		if after := ask("first"); after != 0 {
			t.Fatalf("the first waits %s", after)
		}
		ask("gone")
		o := &objectState{coldState: &coldState{reservation: &reservation{gate, gates.Request{Object: "gone"}}}}
		leaves(o)

		return ask("next")
	}
	stays := turns(func(*objectState) {})
	gone := turns(func(o *objectState) {
		o.cancelReservation()
		if o.reservation != nil {
			t.Error("it would give up its turn again")
		}
		o.cancelReservation()
	})
	forgotten := turns(madeWith().forget)
	if stays <= gone || gone != forgotten {
		t.Errorf("the next waits %s, %s when who was before it has left, and %s when that was forgotten", stays,
			gone, forgotten)
	}
}

// TestDefaultsOfAReconciler verifies that the defaults are those of the documentation.
func TestDefaultsOfAReconciler(t *testing.T) {
	r := madeWith()
	got := []any{r.timeout, r.pollInterval, r.minPollInterval, r.grace, r.volatileInterval, r.spread, r.named,
		r.ignoredFinalizers}
	want := []any{
		time.Minute, time.Minute, time.Second, 30 * time.Second, 10 * time.Minute, true, false,
		map[string]bool{"foregroundDeletion": true, "orphan": true, UnclaimedFinalizer: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if name := ControllerName("Volume.Example.org"); name != "managed/volume.example.org" {
		t.Errorf("the name of the controller is %q", name)
	}
	if leave := madeWith().stopRestoreWatch; leave == nil {
		t.Error("a reconciler without a detector of restores cannot be ended")
	}
}

// TestTheClassOfCreatesIsLogged verifies that the class of creation is logged once: a deterministic name first.
func TestTheClassOfCreatesIsLogged(t *testing.T) {
	cases := map[string]struct {
		options []ReconcilerOption
		want    string
	}{
		"a name":  {[]ReconcilerOption{WithDeterministicExternalName(true)}, `"createClass"="Named"`},
		"a token": {[]ReconcilerOption{WithCreationTokens()}, `"createClass"="Token"`},
		"neither": {nil, `"createClass"="Opaque, or Findable if clients are a CreationRecoverer"`},
	}
	for name, tc := range cases {
		var lines []string
		log := logging.NewLogrLogger(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
		madeWith(append(tc.options, WithLogger(log))...)
		if len(lines) != 1 || !strings.Contains(lines[0], "Reconciler made") || !strings.Contains(lines[0], tc.want) {
			t.Errorf("%s: the log says %q, want %s", name, lines, tc.want)
		}
	}
}
