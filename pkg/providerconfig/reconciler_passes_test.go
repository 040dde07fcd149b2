package providerconfig

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
)

// TestWhenToLookAgain: what is looked at again, and when, after every end of a pass.
func TestWhenToLookAgain(t *testing.T) {
	gone, replaced := kerrors.NewNotFound(schema.GroupResource{Resource: "tenants"},
		"main"), kerrors.NewInvalid(schema.GroupKind{Kind: "Tenant"}, "main", nil)
	for name, tc := range map[string]struct {
		reason string
		prior  func(p *fixture, w *Tenant) // what happens before the pass
		write  error                       // of the pass, when it finds that the object is gone
		want   reconcile.Result
	}{
		"Gone":    {reason: "nothing is there", prior: func(p *fixture, w *Tenant) { p.remove(w) }},
		"New":     {reason: "all is said, and nobody asks", want: reconcile.Result{RequeueAfter: 10 * time.Minute}},
		"GoneNew": {reason: "its finalizer cannot be added any more", write: gone},
		"Steady": {
			reason: "nothing has changed since it was counted",
			prior:  func(p *fixture, w *Tenant) { p.use(bucket("a", "one", "", "main")); p.pass(w) },
			want:   reconcile.Result{RequeueAfter: 10 * time.Minute},
		},
		"TooSoon": {reason: "the rest of five seconds", prior: func(p *fixture, w *Tenant) {
			p.use(bucket("a", "one", "", "main"))
			p.pass(w)
			p.use(bucket("a", "two", "", "main"))
		}, want: reconcile.Result{RequeueAfter: 5 * time.Second}},
		"AlmostTime": {reason: "the very last of them", prior: func(p *fixture, w *Tenant) {
			p.use(bucket("a", "one", "", "main"))
			p.pass(w)
			p.use(bucket("a", "two", "", "main"))
			p.clock.SetTime(p.clock.Now().Add(5*time.Second - 1))
		}, want: reconcile.Result{RequeueAfter: 1}},
		"Released": {
			reason: "until it is seen to be gone",
			prior:  func(p *fixture, w *Tenant) { p.pass(w); p.remove(w) },
			want:   reconcile.Result{RequeueAfter: time.Second},
		},
		"GoneThen": {
			reason: "somebody else was quicker to let it go",
			prior:  func(p *fixture, w *Tenant) { p.pass(w); p.remove(w) }, write: replaced,
			want: reconcile.Result{RequeueAfter: 10 * time.Minute},
		},
		"NotOurs": {reason: "others hold what is deleted", prior: func(p *fixture, w *Tenant) {
			p.load(w)
			w.Finalizers = []string{"example.org/other"}
			if err := p.Update(p.Context(), w); err != nil {
				p.Fatal(err)
			}
			p.remove(w)
		}, want: reconcile.Result{RequeueAfter: 10 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFixture(t, tenant("a", "main"))
			w := tenant("a", "main")
			if tc.prior != nil {
				tc.prior(p, w)
			}
			if tc.write != nil {
				p.before = func() error {
					p.load(w)
					w.Finalizers = nil
					if err := p.Update(p.Context(), w); err != nil && w.DeletionTimestamp.IsZero() {
						p.Fatal(err)
					}
					if w.DeletionTimestamp.IsZero() {
						p.remove(w)
					}

					return tc.write
				}
			}
			if got := p.pass(w); got != tc.want {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestReadsThatFail: what cannot be read is an error, without secrets, and is not taken for gone: what is known of it
// stays.
func TestReadsThatFail(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.pass(w)
	p.rs["Tenant"].client = &failing{Client: p, reads: errors.New("boom: password=hunter2")}
	if _, err := p.try(w); message(err) != "cannot get the ProviderConfig: boom: password=[REDACTED]" ||
		p.rs["Tenant"].records.Len() != 1 {
		t.Errorf("error %v, %d configurations are known", err, p.rs["Tenant"].records.Len())
	}
}

// TestReleaseThatFails: a release that fails is tried again at once: nothing was let go of.
func TestReleaseThatFails(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	w := tenant("a", "main")
	p.pass(w)
	p.remove(w)
	p.before = func() error { return errBoom }
	if _, err := p.try(w); !errors.Is(err, errBoom) {
		t.Errorf("error %v", err)
	}
	p.before = nil
	if p.pass(w); p.load(w) {
		t.Error("it stays when nobody uses it")
	}
}

// TestConflictReadsNothing: after a conflict the API server is not asked whether the object is deleted.
func TestConflictReadsNothing(t *testing.T) {
	p := newFixture(t, tenant("a", "main"))
	p.before = func() error { return kerrors.NewConflict(schema.GroupResource{Resource: "tenants"}, "main", errBoom) }
	if p.pass(tenant("a", "main")); p.gets != 0 {
		t.Errorf("%d reads of the API server", p.gets)
	}
}

// An eventLog is a recorder that keeps whole events.
type eventLog struct{ lines []string }

func (d *eventLog) WithAnnotations(...string) event.Recorder { return d }

func (d *eventLog) Event(_ runtime.Object, e event.Event) {
	d.lines = append(d.lines, strings.Join([]string{string(e.Type), string(e.Reason), e.Action, e.Message}, " | "))
}

// TestEventsAfterTheWrite: events are recorded after the status is written, in the order of the conditions, and with an
// action.
func TestEventsAfterTheWrite(t *testing.T) {
	p, d := newFixture(t, tenant("a", "main")), &eventLog{}
	w, r, set := tenant("a", "main"), p.rs["Tenant"], limit.NewSet(limit.WithClock(p.clock))
	r.recorder, r.limits = d, set
	p.use(bucket("a", "one", "", "main"))
	p.pass(w)
	p.remove(w)
	call(t, set, "Tenant/a/main", external.Unauthorized(errBoom))
	p.before = func() error { return errBoom }
	if _, err := p.try(w); !errors.Is(err, errBoom) || d.lines != nil {
		t.Errorf("error %v, recorded %q for a status that is not written", err, d.lines)
	}
	p.before = nil
	p.pass(w)
	want := []string{
		"Warning | InUse | Delete | Deletion waits for 1 user: Bucket a/one",
		"Warning | ConnectionUnauthorized | Connect | the external system rejects the credentials: correct the Secret; " +
			"the provider probes it with single calls; last error: boom",
	}
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestConnectionThatIsWellAgain: a connection that is well again says so and no more: there is no error that it could
// name.
func TestConnectionThatIsWellAgain(t *testing.T) {
	p, set := newFixture(t), limit.NewSet()
	r, w := p.rs["Tenant"], tenant("a", "main")
	r.limits = set
	call(t, set, "Tenant/a/main", nil)
	if e := r.describeConnection(w, key{"Tenant", "a", "main"}, &record{}); e != nil {
		t.Errorf("of a connection that was never anything but well it is told %v", e)
	}
	w.SetConditions(commonv1.Condition{
		Type: commonv1.TypeConnected, Status: metav1.ConditionFalse,
		Reason: commonv1.ReasonConnectionUnavailable,
	})
	e := r.describeConnection(w, key{"Tenant", "a", "main"}, &record{})
	if want := (&event.Event{
		Type: event.TypeNormal, Reason: ReasonConnected, Message: "the connection is available",
		Action: "Connect",
	}); !cmp.Equal(want, e) {
		t.Errorf("told %v, want %v", e, want)
	}
}

// TestRecheck: a connection that is not well is looked at each minute; others are not, nor what has no conditions, nor
// without limits.
func TestRecheck(t *testing.T) {
	connected := func(reason commonv1.ConditionReason) Config {
		w := tenant("a", "main")
		w.SetConditions(commonv1.Condition{Type: commonv1.TypeConnected, Reason: reason})

		return w
	}
	set := limit.NewSet()
	for name, tc := range map[string]struct {
		config Config
		limits *limit.Set
		want   time.Duration
	}{
		"Unavailable": {connected(commonv1.ReasonConnectionUnavailable), set, time.Minute},
		"Throttled":   {connected(commonv1.ReasonConnectionThrottled), set, time.Minute},
		"Available":   {connected(commonv1.ReasonConnectionAvailable), set, 10 * time.Minute},
		"Unused":      {tenant("a", "main"), set, 10 * time.Minute},
		"NoCondition": {clusterTenant("main"), set, 10 * time.Minute},
		"NoLimits":    {connected(commonv1.ReasonConnectionUnavailable), nil, 10 * time.Minute},
	} {
		r := &reconciler{limits: tc.limits}
		if got := r.resyncAfter(tc.config); got != tc.want {
			t.Errorf("%s: after %s, want %s", name, got, tc.want)
		}
	}
}

// TestGetRefuses: a configuration that gets no finalizer is waited for for 630 ms; and an object
// that cannot refer to any, or names none, is refused at once, whatever the kinds.
func TestGetRefuses(t *testing.T) {
	nameless := bucket("a", "x", "Tenant", "main")
	nameless.Spec.ProviderConfigRef.Name = ""
	for name, tc := range map[string]struct {
		object interface {
			metav1.Object
			runtime.Object
		}
		kinds  Kinds
		want   string
		waited time.Duration
	}{
		"Unprotected": {bucket("a", "x", "", "main"), kinds,
			"Tenant a/main is not ready: it lacks the finalizer that protects it while it is in use",
			630 * time.Millisecond},
		"Nameless": {nameless, kinds, "the object names no ProviderConfig", 0},
		"NoUser":   {tenant("a", "x"), Kinds{}, "a *providerconfig.Tenant cannot refer to a ProviderConfig", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, begin := newFixture(t, tenant("a", "main")), time.Now()
				if _, err := Get(t.Context(), p, tc.object, tc.kinds); message(err) != tc.want ||
					time.Since(begin) != tc.waited {
					t.Errorf("error %q after %s, want %q after %s", message(err), time.Since(begin), tc.want, tc.waited)
				}
			})
		})
	}
}

// TestEnqueueUsersPlainly: users are enqueued in a queue without priorities as well; and it is said what is not known
// of them.
func TestEnqueueUsersPlainly(t *testing.T) {
	p := newFixture(t, bucket("a", "one", "", "main"))
	h, err := EnqueueUsers(p, kinds, &Bucket{})
	if err != nil {
		t.Fatal(err)
	}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	h.Create(t.Context(), ctrlevent.CreateEvent{Object: tenant("a", "main")}, q)
	if q.Len() != 1 {
		t.Fatalf("%d users are enqueued", q.Len())
	}
	if request, _ := q.Get(); request.String() != "a/one" {
		t.Errorf("enqueued %s", request)
	}
	if _, err := EnqueueUsers(p, kinds, &Role{}); err == nil ||
		!strings.HasPrefix(err.Error(), "cannot determine the kind of a user: ") {
		t.Errorf("error %v", err)
	}
}
