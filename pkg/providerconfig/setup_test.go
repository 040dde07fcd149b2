package providerconfig

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/moorage-dev/moorage/pkg/crdgate"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	resourcefake "github.com/moorage-dev/moorage/pkg/resource/fake"
)

var errBoom = errors.New("boom")

// A yard is a manager that runs nothing of what is added to it.
type yard struct {
	*resourcefake.Manager

	validates bool   // that names of controllers are unique in the process
	refuses   string // what it does not add
	added     []string
	recorders []string
	rs        []*reconciler
	limiters  []workqueue.TypedRateLimiter[reconcile.Request]
}

func newYard(s *runtime.Scheme) *yard {
	return &yard{Manager: &resourcefake.Manager{Client: fake.NewClientBuilder().WithScheme(s).Build(), Scheme: s}}
}

func (y *yard) GetControllerOptions() ctrlconfig.Controller {
	return ctrlconfig.Controller{SkipNameValidation: new(!y.validates)}
}

func (y *yard) GetEventRecorder(name string) recorder.EventRecorder {
	y.recorders = append(y.recorders, name)

	return y.Manager.GetEventRecorder(name)
}

// Add notes what is added, and of a controller what it runs.
func (y *yard) Add(r manager.Runnable) error {
	name := "follower that waits to lead"
	if one, ok := r.(manager.LeaderElectionRunnable); ok && !one.NeedLeaderElection() {
		name = "follower"
	}
	c := reflect.Indirect(reflect.ValueOf(r)) // a controller says no more of itself
	if do := c.FieldByName("Do"); do.IsValid() {
		name = c.FieldByName("Name").String()
		y.rs = append(y.rs, do.Interface().(*reconciler))
		y.limiters = append(y.limiters, c.FieldByName("RateLimiter").
			Interface().(workqueue.TypedRateLimiter[reconcile.Request]))
	}
	y.added = append(y.added, name)
	if name == y.refuses {
		return errBoom
	}

	return nil
}

const (
	tenantController  = "providerconfig/tenant.providerconfig.example.moorage.dev"
	clusterController = "providerconfig/clustertenant.providerconfig.example.moorage.dev"
)

// TestSetup: each kind of configuration gets a controller with what the options say, and each kind
// of users a follower, which a standby runs as well. Until that has seen all users, not all are
// known.
func TestSetup(t *testing.T) {
	own, set, now := logging.NewNopLogger(), limit.NewSet(), clocktesting.NewFakePassiveClock(time.Unix(1, 0))
	recorder := event.NewNopRecorder()
	named := own.WithValues("a", "logger")
	for name, tc := range map[string]struct {
		reason    string
		options   []Option
		recorders []string
		want      reconciler
	}{
		"Defaults": {"nothing is said", nil, []string{tenantController, clusterController},
			reconciler{clock: clock.RealClock{}, interval: 5 * time.Second}},
		"All": {"everything is", []Option{WithLogger(named), WithRecorder(recorder), WithClock(now),
			WithCountInterval(time.Minute), WithLimits(set), WithRetiredFinalizers("a"),
			WithRetiredFinalizers("b", "c")}, nil,
			reconciler{
				recorder: recorder, clock: now, interval: time.Minute, limits: set,
				retired: []retiredFinalizer{{name: "a"}, {name: "b"}, {name: "c"}},
			}},
		"Never": {"an interval is positive", []Option{WithCountInterval(0), WithRecorder(recorder)}, nil, reconciler{
			recorder: recorder, clock: clock.RealClock{}, interval: 5 * time.Second,
		}},
		"Always": {"and may be short", []Option{WithCountInterval(1), WithRecorder(recorder)}, nil,
			reconciler{recorder: recorder, clock: clock.RealClock{}, interval: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(newScheme())
			if err := Setup(y, kinds, []User{&Bucket{}}, tc.options...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"follower", tenantController, clusterController}, y.added); diff != "" {
				t.Errorf("%s: added: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.recorders, y.recorders); diff != "" {
				t.Errorf("%s: recorders of the manager: -want, +got:\n%s", tc.reason, diff)
			}
			for i, r := range y.rs {
				if r.recorder == nil || tc.want.recorder != nil && r.recorder != tc.want.recorder ||
					r.clock != tc.want.clock || r.interval != tc.want.interval || r.limits != tc.want.limits {
					t.Errorf("%s: %s has %v, %v, %s, %v", tc.reason, y.added[i+1], r.recorder, r.clock, r.interval,
						r.limits)
				}
				if !slices.EqualFunc(r.retired, tc.want.retired,
					func(got, want retiredFinalizer) bool { return got.name == want.name && got.Finalizer != nil }) {
					t.Errorf("%s: %s retires %v", tc.reason, y.added[i+1], r.retired)
				}
				if complete, followed := r.tracker.kindSynced[group.WithKind("Bucket")]; complete || !followed ||
					r.tracker.synced() {
					t.Errorf("%s: all users are known before they are followed", tc.reason)
				}
			}
			for _, l := range y.limiters {
				request := reconcile.Request{}
				first := l.When(request)
				for range 20 {
					l.When(request)
				}
				if last := l.When(request); first != ratelimiter.BackOffBase || last != ratelimiter.BackOffMax {
					t.Errorf("%s: tries again after %s, and at last %s", tc.reason, first, last)
				}
			}
		})
	}
}

// gated is a yard that a gate asks through.
type gated struct{ *yard }

func (gated) GetHTTPClient() *http.Client { return http.DefaultClient }

// TestSetupBehindAGate: behind a gate the manager starts nothing itself: a controller of a kind that is not served
// would end the process.
func TestSetupBehindAGate(t *testing.T) {
	y := newYard(newScheme())
	y.Config = &rest.Config{}
	gate, err := crdgate.New(gated{y})
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(y, kinds, []User{&Bucket{}}, WithGate(gate)); err != nil || len(y.added) > 0 {
		t.Errorf("error %v, added %q", err, y.added)
	}
}

// A countingLogger counts messages.
type countingLogger struct {
	logging.Logger

	messages *int
}

func (h countingLogger) WithValues(...any) logging.Logger { return h }
func (h countingLogger) Debug(string, ...any)             { *h.messages++ }

// TestSetupUsesItsLogger: its controllers log with the logger of the options.
func TestSetupUsesItsLogger(t *testing.T) {
	y, messages := newYard(newScheme()), 0
	if err := Setup(y, kinds, []User{&Bucket{}},
		WithLogger(countingLogger{logging.NewNopLogger(), &messages})); err != nil {
		t.Fatal(err)
	}
	if err := y.Client.Create(t.Context(), tenant("a", "main")); err != nil {
		t.Fatal(err)
	}
	if _, err := y.rs[0].Reconcile(t.Context(),
		reconcile.Request{NamespacedName: nameOf(tenant("a", "main"))}); err != nil || messages != 1 {
		t.Errorf("error %v, messages %d times that not all users are known", err, messages)
	}
}

// TestSetupFails: what cannot be set up is said, and nothing is added after that.
func TestSetupFails(t *testing.T) {
	listless := newScheme()
	listless.AddKnownTypeWithName(group.WithKind("Role"), &Role{})
	for name, tc := range map[string]struct {
		reason string
		change func(y *yard)
		scheme *runtime.Scheme
		kinds  Kinds
		users  []User
		want   string
		added  []string
	}{
		"NoKinds": {reason: "there is nothing to keep", want: "no kind of configuration is given"},
		"Users": {
			reason: "a kind is not registered", kinds: kinds, users: []User{&Role{}},
			want: "cannot determine the kind of a user: ",
		},
		"List": {
			reason: "its list is not", scheme: listless, kinds: kinds, users: []User{&Role{}},
			want: "cannot list the users of kind Role: ",
		},
		"Follower": {
			reason: "nobody follows the users", kinds: kinds, users: []User{&Bucket{}},
			change: func(y *yard) { y.refuses = "follower" },
			want:   "cannot watch the users of kind Bucket: boom", added: []string{"follower"},
		},
		"Controller": {
			reason: "nobody keeps a kind", kinds: kinds, users: []User{&Bucket{}},
			change: func(y *yard) { y.refuses = clusterController },
			want:   "cannot set up a controller for ClusterTenant: boom",
			added:  []string{"follower", tenantController, clusterController},
		},
		"Twice": {
			reason: "the process has such a controller", kinds: Kinds{Cluster: &ClusterTenant{}},
			want: "cannot set up a controller for ClusterTenant: controller with name",
			change: func(y *yard) {
				if y.validates = true; Setup(y, Kinds{Cluster: &ClusterTenant{}}, nil) == nil {
					y.added = nil // the first time in this process
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.scheme == nil {
				tc.scheme = newScheme()
			}
			y := newYard(tc.scheme)
			if tc.change != nil {
				tc.change(y)
			}
			if err := Setup(y, tc.kinds, tc.users); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.want)
			}
			if diff := cmp.Diff(tc.added, y.added); diff != "" {
				t.Errorf("%s: added: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
