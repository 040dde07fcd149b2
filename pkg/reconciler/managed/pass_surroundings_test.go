package managed_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestWhatEndsWithAPass verifies that the context of Connect lasts until Disconnect, which has five seconds, and
// that the state of the pass is released.
func TestWhatEndsWithAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := &objectstate.Handle{}
		w := newWorld(t, managed.WithObjectStates(states))
		var connected context.Context
		var left time.Duration
		live, failed := false, errors.New("cannot hang up")
		w.o = append(w.o, managed.WithExternalConnectDisconnecter(managed.ExternalConnectDisconnecterFns{
			ConnectFn: func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
				connected = ctx

				return w.cloud.Connect(ctx, mg)
			},
			DisconnectFn: func(ctx context.Context) error {
				live = connected.Err() == nil
				end, _ := ctx.Deadline()
				left = time.Until(end)

				return failed
			},
		}))
		w.restart()
		w.create(nil)
		w.pass()
		w.pass()
		if _, _, events := w.taken(); events != "Normal/CreatedExternalResource, Warning/CannotDisconnectFromProvider" {
			t.Errorf("events %q: a complaint is told once", events)
		}
		if !live || connected.Err() == nil || left != 5*time.Second {
			t.Errorf("lived until it was disconnected %t, after the pass %v, %s for it", live, connected.Err(), left)
		}
		failed = nil
		w.restart()
		w.pass()
		of := objectstate.Key{Object: key, UID: "uid-1"}
		if r := states.Snapshot()[of]; r.Cold != nil || r.Written != nil || !r.Known {
			t.Errorf("of an object with which all is well is kept %+v, %v", r.Cold, r.Written)
		}
		failed = errors.New("cannot hang up")
		w.pass()
		w.pass()
		w.expect("", strings.TrimSpace(strings.Repeat(look+" ", 3)), "Warning/CannotDisconnectFromProvider")
	})
}

// TestTheLogNamesTheObject verifies that log lines have the object and its version.
func TestTheLogNamesTheObject(t *testing.T) {
	var lines []string
	log := logging.NewLogrLogger(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	w := newWorld(t, managed.WithLogger(log))
	w.create(nil)
	version := w.get().ResourceVersion
	w.pass()
	want := `"msg"="Event" "object"="default/data" "uid"="uid-1" "version"="` + version +
		`" "type"="Normal" "reason"="CreatedExternalResource"`
	if len(lines) == 0 || !strings.Contains(lines[len(lines)-1], want) {
		t.Errorf("%q has no %s", lines, want)
	}
}

// TestWhatIsGoneBeforeTheCacheKnows verifies that a stale cached object that is gone is not reconciled; if it
// exists after all, the next pass reads it.
func TestWhatIsGoneBeforeTheCacheKnows(t *testing.T) {
	states := &objectstate.Handle{}
	w := newWorld(t, managed.WithObjectStates(states))
	w.create(nil)
	w.pass()
	of := objectstate.Key{Object: key, UID: "uid-1"}
	known := states.Snapshot()
	record := known[of]
	record.Gone = true
	known[of] = record
	states.Restore(known)
	w.taken()
	deferred := reconcile.Result{RequeueAfter: 30 * time.Second, Priority: new(controller.PriorityPoll)}
	if result := w.pass(); result.RequeueAfter != deferred.RequeueAfter ||
		ptrTo(result.Priority) != ptrTo(deferred.Priority) {
		t.Errorf("result %+v, want %+v", result, deferred)
	}
	w.expect("", "", "")
	w.pass()
	w.expect("", look, "")

	d := controller.NewRestoreDetector()
	w.o = append(w.o, managed.WithRestoreDetector(d))
	w.restart()
	d.Seen(schema.GroupKind{}, "874", "219")
	if result := w.pass(); result.RequeueAfter != deferred.RequeueAfter ||
		ptrTo(result.Priority) != ptrTo(deferred.Priority) {
		t.Errorf("after a restore: result %+v, want %+v", result, deferred)
	}
	w.expect("", "", "")
}

// TestARestoreIsReportedWithItsKind verifies that a restore of the API server that a live read detects is reported
// with the kind.
func TestARestoreIsReportedWithItsKind(t *testing.T) {
	d := controller.NewRestoreDetector()
	w := newWorld(t, managed.WithRestoreDetector(d))
	w.create(nil)
	before := w.get()
	w.pass()
	w.lag, w.restored = before, before
	_, err := w.try()
	if !errors.Is(err, controller.ErrRestored) ||
		!strings.Contains(err.Error(), "Volume.example.moorage.dev had version") {
		t.Errorf("the pass ends with %v", err)
	}
}

// An answerer is a client that knows nothing but an error.
type answerer struct {
	client.Client

	err error
}

func (a answerer) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return a.err
}

// TestWhoSaysThatAnObjectIsGone verifies that a 404 of a reader that does not know the kind does not mean that the
// object is gone.
func TestWhoSaysThatAnObjectIsGone(t *testing.T) {
	absent := kerrors.NewNotFound(volumes, key.Name)
	unserved := kerrors.NewNotFound(volumes, key.Name)
	unserved.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeUnexpectedServerResponse, Message: "404 page not found",
	}}
	for name, tc := range map[string]struct {
		answer error
		want   string
	}{
		"the API server": {absent, none},
		"a proxy":        {unserved, "error cannot get managed resource: " + unserved.Error()},
		"nobody":         {errBoom, "error cannot get managed resource: boom"},
	} {
		w := newWorld(t)
		r := managed.NewReconciler(&fake.Manager{Client: answerer{err: tc.answer}, Scheme: w.API.Scheme()}, volume.Kind)
		if got := resultOf(r.Reconcile(t.Context(), request())); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestWhatStopsAPassIsCounted verifies that every end of a pass is counted by its name, and that earlier events are
// emitted.
func TestWhatStopsAPassIsCounted(t *testing.T) {
	created := "Normal/CreatedExternalResource"
	cases := map[string]struct {
		options []managed.ReconcilerOption
		arrange func(w *world, stop func())
		outcome string
		events  string
		failed  bool
	}{
		"a fence": {
			options: []managed.ReconcilerOption{managed.WithFence(func(context.Context) error { return errBoom })},
			outcome: "fenced", failed: true,
		},
		"the end of the process": {
			arrange: func(w *world, stop func()) {
				w.cloud.After = func(ctx context.Context, call string, _ resource.Managed) error {
					if call != "Observe" || len(w.cloud.Disks()) == 0 {
						return nil
					}
					stop()
					<-ctx.Done()

					return ctx.Err()
				}
			},
			outcome: "interrupted", events: created, failed: true,
		},
		"a conflict": {
			arrange: func(w *world, _ func()) {
				writing("external-create-succeeded", nil)(w)
				w.cloud.Before = failing("Observe", conflict())
			},
			outcome: "conflict",
		},
		"nothing": {outcome: "kept", events: created},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			w := newWorld(t, append(tc.options, managed.WithMetricsRegisterer(registry))...)
			w.create(nil)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if tc.arrange != nil {
				tc.arrange(w, stop)
			}
			_, err := w.r.Reconcile(ctx, request())
			if failed := err != nil; failed != tc.failed {
				t.Errorf("error %v", err)
			}
			if n := metric(t, registry, "moorage_managed_passes_total outcome="+tc.outcome); n != 1 {
				t.Errorf("%v passes ended as %s", n, tc.outcome)
			}
			if _, _, events := w.taken(); events != tc.events {
				t.Errorf("events %q, want %q", events, tc.events)
			}
		})
	}
}

// TestAnOverdueCallOfAnObjectThatIsGone verifies that an overdue call of an object that is gone is not reported,
// and that an unresponsive API server is retried.
func TestAnOverdueCallOfAnObjectThatIsGone(t *testing.T) {
	unhold := func(w *world) {
		w.change(func(v *volume.Volume) { v.Finalizers = nil })
		w.delete()
	}
	cases := map[string]struct {
		arrange       func(w *world)
		first, second float64 // calls that are counted after one look, and after two
	}{
		"it is there": {func(*world) {}, 1, 1},
		"it is gone":  {unhold, 1, 1},
		"another has its name": {func(w *world) { unhold(w); w.create(func(v *volume.Volume) { v.UID = "uid-2" }) },
			1, 1},
		"it goes meanwhile": {func(w *world) {
			w.answer = func(context.Context, string) error { w.answer = nil; unhold(w); return nil }
		}, 1, 1},
		"no read is answered": {func(w *world) { w.failLive = 1 }, 0, 1},
		"no write is answered": {func(w *world) {
			w.answer = func(context.Context,
				string) error {
				w.answer = nil
				return errLost
			}
		}, 0, 1},
		"none at all, and then": {func(w *world) { w.failLive = 2 }, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			w := newWorld(t, managed.WithMetricsRegisterer(registry))
			w.create(nil)
			w.pass()
			called, back, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
				if call == "Observe" {
					close(called)
					<-back
				}

				return nil
			}
			go func() {
				defer close(ended)
				_, _ = w.r.Reconcile(w.Context(), request())
			}()
			<-called
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			tc.arrange(w)
			for i, want := range []float64{tc.first, tc.second} {
				w.r.TellOverdue(w.Context())
				if n := metric(t, registry, "moorage_managed_overdue_calls_total"); n != want {
					t.Errorf("look %d: %v calls are counted, want %v", i+1, n, want)
				}
			}
			close(back)
			<-ended
		})
	}
}

// TestWhatIsNotKeptDoesNotWaitAfterARestart verifies that a healthy object is not deferred after a restart if its
// finalizer or record was removed: a deletion would leave the resource.
func TestWhatIsNotKeptDoesNotWaitAfterARestart(t *testing.T) {
	cases := map[string]struct {
		options  []managed.ReconcilerOption
		strip    func(*volume.Volume)
		deferred bool
	}{
		"nothing is taken": {strip: func(*volume.Volume) {}, deferred: true},
		"the finalizer":    {strip: func(v *volume.Volume) { v.Finalizers = nil }},
		"one that may not be created": {strip: func(v *volume.Volume) {
			v.Finalizers = nil
			annotate("krateo.io/management-policy", "observe-delete")(v)
		}, deferred: true},
		"one that may not be deleted": {
			strip:    func(v *volume.Volume) { v.Finalizers = nil; annotate("krateo.io/deletion-policy", "orphan")(v) },
			deferred: true,
		},
		"the name":        {strip: strips["the name"]},
		"all annotations": {strip: strips["all annotations"]},
		"everything":      {strip: strips["all annotations and finalizers"]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(tc.options, managed.WithSpreadAfterRestart(true))...)
			w.create(nil)
			w.pass()
			w.pass()
			w.change(tc.strip)
			w.restart()
			w.taken()
			result, err := w.try()
			_, calls, _ := w.taken()
			if deferred := calls == "" && err == nil && result.RequeueAfter == 30*time.Second; deferred != tc.deferred {
				t.Errorf("waits %t, want %t: %+v, %v, calls %q", deferred, tc.deferred, result, err, calls)
			}
			if n := len(w.cloud.Disks()); n != 1 {
				t.Errorf("there are %d disks", n)
			}
		})
	}
}
