package providerconfig

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
)

// call makes a call over a connection, with its answer.
func call(t *testing.T, set *limit.Set, name string, answer error) {
	t.Helper()
	release, err := set.Gate(name).Acquire(t.Context(), limit.Request{Priority: limit.User, Message: error.Error})
	if err != nil {
		t.Fatal(err)
	}
	release(answer)
}

// TestStateOfAConnection: what is the matter with a connection is shown once, by its configuration, until it is
// well again; and nothing is sent while that does not change.
func TestStateOfAConnection(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason string
		answer error
		status string
		event  string
	}{
		"Throttled": {"the system complains", external.Throttled("", time.Second, boom), "True/Throttled",
			"Warning ConnectionThrottled"},
		"Unauthorized": {"credentials are not accepted", external.Unauthorized(boom), "False/Unauthorized",
			"Warning ConnectionUnauthorized"},
		"Unavailable": {"the system is down", external.Unavailable(boom), "False/ExternalSystemUnavailable",
			"Warning ConnectionUnavailable"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newFixture(t, tenant("a", "main"))
			set := limit.NewSet(limit.WithClock(p.clock), limit.WithBreaker(1, 10*time.Second, time.Minute))
			for _, r := range p.rs {
				r.limits = set
			}
			w := tenant("a", "main")
			p.pass(w)
			call(t, set, "Tenant/a/main", nil)
			call(t, set, "Tenant/b/main", tc.answer)
			p.pass(w)
			p.wantWrites("of a connection that is well nothing is said, and another one is not its own", "patch main")

			call(t, set, "Tenant/a/main", tc.answer)
			for range 3 {
				if again := p.pass(w).RequeueAfter; again > time.Minute {
					t.Errorf("looked at again after %s: nobody tells when it is well again", again)
				}
			}
			p.wantWrites(tc.reason, "status main")
			p.wantConnected(w, tc.status)
			if c := w.GetCondition(commonv1.TypeConnected); !strings.HasSuffix(c.Message, "; last error: boom") ||
				!strings.HasSuffix(p.events[0], c.Message) {
				t.Errorf("%s: %q and %q, want what the system said", tc.reason, c.Message, p.events)
			}

			p.clock.SetTime(p.clock.Now().Add(2 * time.Minute))
			call(t, set, "Tenant/a/main", nil)
			for range 3 {
				p.pass(w)
			}
			p.wantWrites("it is well again", "status main")
			p.wantConnected(w, "True/Available")
			if len(p.events) != 2 || len(p.events[0]) < len(tc.event) || p.events[0][:len(tc.event)] != tc.event {
				t.Errorf("%s: events %q, want one of %q and one that it is well", tc.reason, p.events, tc.event)
			}
		})
	}
}

func (p *fixture) wantConnected(w *Tenant, want string) {
	p.Helper()
	p.load(w)
	c := w.GetCondition(commonv1.TypeConnected)
	if got := string(c.Status) + "/" + string(c.Reason); got != want || c.Message == "" {
		p.Errorf("connected: %s (%q), want %s", got, c.Message, want)
	}
}

// TestStateOfAConnectionThatCannotBeStored: a definition without conditions does not cause repeated writes.
func TestStateOfAConnectionThatCannotBeStored(t *testing.T) {
	p := newFixture(t, tenant("a", "main"), clusterTenant("main"))
	set := limit.NewSet(limit.WithClock(p.clock))
	for _, r := range p.rs {
		r.limits = set
	}
	p.prunes = true
	call(t, set, "Tenant/a/main", external.Unauthorized(errors.New("boom")))
	call(t, set, "ClusterTenant/main", external.Unauthorized(errors.New("boom")))
	for range 4 {
		p.pass(tenant("a", "main"))
		p.pass(clusterTenant("main"))
		p.clock.SetTime(p.clock.Now().Add(time.Minute))
	}
	if len(p.events) != 1 {
		t.Errorf("events %q, want one", p.events)
	}
}

// TestAConnectionThatRecoveredWhileNoProcessRan: a condition that an earlier process has stored is corrected as soon as
// the external system has answered a call of this process, and not before.
func TestAConnectionThatRecoveredWhileNoProcessRan(t *testing.T) {
	w := tenant("a", "main")
	w.SetConditions(commonv1.Condition{
		Type: commonv1.TypeConnected, Status: metav1.ConditionFalse, Reason: commonv1.ReasonConnectionUnavailable,
		Message: "the external system is unavailable",
	})
	p := newFixture(t, w)
	set := limit.NewSet()
	r := p.rs["Tenant"]
	r.limits = set
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	if err := r.connectionSource().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}

	release, err := set.Gate("Tenant/a/main").Acquire(t.Context(), limit.Request{Priority: limit.User})
	if err != nil {
		t.Fatal(err)
	}
	p.pass(w)
	p.wantConnected(w, "False/ExternalSystemUnavailable")
	if q.Len() > 0 {
		t.Error("the configuration is reconciled before the external system has answered")
	}
	release(nil)
	if q.Len() != 1 {
		t.Fatal("the configuration is not reconciled after the first answer of the external system")
	}
	p.pass(w)
	p.wantConnected(w, "True/Available")
	call(t, set, "Tenant/a/main", nil)
	if q.Len() != 1 {
		t.Error("an answer that changes nothing causes a reconcile")
	}
}

// TestConnectionsWakeTheirConfigurations: only the configuration that a connection is called after is looked at.
func TestConnectionsWakeTheirConfigurations(t *testing.T) {
	p := newFixture(t)
	cases := map[string]struct {
		kind string
		want string
	}{
		"Tenant/a/main":      {"Tenant", "a/main"},
		"ClusterTenant/main": {"ClusterTenant", "/main"},
		"Tenant/main":        {"Tenant", ""},
		"ClusterTenant/a/b":  {"ClusterTenant", ""},
		"Other/a/main":       {"Tenant", ""},
		"":                   {"Tenant", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			set := limit.NewSet()
			r := p.rs[tc.kind]
			r.limits = set
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer q.ShutDown()
			if err := r.connectionSource().Start(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			call(t, set, name, external.Unauthorized(errors.New("boom")))
			got := types.NamespacedName{}
			if q.Len() > 0 {
				request, _ := q.Get()
				got = request.NamespacedName
			}
			if tc.want == "" && got != (types.NamespacedName{}) || tc.want != "" && got.String() != tc.want {
				t.Errorf("woke %q, want %q", got, tc.want)
			}
		})
	}
}
