package syncer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
)

// candidate is a manager of a process that is elected when the test says so.
type candidate struct {
	manager.Manager

	told    *journal
	elected chan struct{}
	loses   chan error
	checks  map[string]healthz.Checker
}

func newCandidate(told *journal) *candidate {
	return &candidate{told: told, elected: make(chan struct{}), loses: make(chan error, 1), checks: map[string]healthz.Checker{}}
}

func (c *candidate) Elected() <-chan struct{} { return c.elected }

func (c *candidate) AddReadyzCheck(name string, check healthz.Checker) error {
	c.checks[name] = check
	return nil
}

func (c *candidate) Start(ctx context.Context) error {
	c.told.note("the process begins")
	defer c.told.note("the process ends")
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.loses:
		return err
	}
}

func (c *candidate) ready() bool { return c.checks["syncers"](nil) == nil }

// TestLeads: what waits to be elected does nothing and is ready, what leads does everything,
// and what loses the election ends with an error, as a manager does.
func TestLeads(t *testing.T) {
	did := []string{"the process begins", "one: init", "one: indices", "host is filled", "virtual is filled", "one: register"}
	cases := map[string]struct {
		reason   string
		elected  bool
		then     func(c *candidate, stop func())
		is       error
		steps    []string
		ready    bool
		runnable bool
	}{
		"Waits":   {"Who is not elected does nothing until it is told to stop.", false, func(_ *candidate, stop func()) { stop() }, nil, []string{"the process begins", "the process ends"}, true, false},
		"Fails":   {"It cannot take part.", false, func(c *candidate, _ func()) { c.loses <- errBoom }, errBoom, []string{"the process begins", "the process ends"}, true, false},
		"Stopped": {"A leader that is told to stop gives the lease up last.", true, func(_ *candidate, stop func()) { stop() }, nil, append(did, "the process ends"), true, true},
		"Loses":   {"A leader that loses the lease ends.", true, func(c *candidate, _ func()) { c.loses <- errBoom }, errBoom, append(did, "the process ends"), true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRuns(t)
				c := newCandidate(r.told)
				r.reg.ProcessManager = c
				r.register(agent{name: "one", told: r.told})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				r.start(ctx)
				if r.ready() || r.host.running() || !c.ready() {
					t.Errorf("%s\nit is ready, or runs, before it is elected; or is no reason to wait for: %t", tc.reason, c.ready())
				}
				if tc.elected {
					close(c.elected)
					<-r.runner.Ready()
				}
				if r.host.running() != tc.runnable || c.ready() != tc.ready || len(r.ended) > 0 {
					t.Errorf("%s\nthe host's manager runs: %t, ready: %t", tc.reason, r.host.running(), c.ready())
				}
				tc.then(c, stop)
				if err := <-r.ended; tc.is == nil && err != nil || !errors.Is(err, tc.is) {
					t.Errorf("%s\ngot error %v, want %v", tc.reason, err, tc.is)
				}
				r.wantSteps(tc.reason, tc.steps...)
				if r.host.running() || r.virtual.running() {
					t.Errorf("%s\na manager still runs", tc.reason)
				}
				synctest.Wait()
			})
		})
	}
}

// TestReadiness: a process that leads is ready when its syncers run.
func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns(t)
		c := newCandidate(r.told)
		r.reg.ProcessManager = c
		filled := make(chan struct{})
		r.host.cache.fills = func(context.Context) bool { <-filled; return true }
		r.register(agent{name: "one", told: r.told})
		ctx, stop := context.WithCancel(t.Context())
		close(c.elected)
		r.start(ctx)
		if c.ready() {
			t.Error("it is ready, and the caches are not filled")
		}
		close(filled)
		<-r.runner.Ready()
		if !c.ready() {
			t.Error("it is not ready, and the syncers run")
		}
		stop()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// TestElectionOptions: times with which nobody could lead, and no names, are refused; without
// any option there is nothing in the process besides the syncers.
func TestElectionOptions(t *testing.T) {
	virtual, host := newSmall(t, "virtual"), newSmall(t, "host")
	cases := map[string]struct {
		reason string
		e      *syncer.LeaderElection
		want   string
	}{
		"None":     {"Nothing is asked for.", nil, ""},
		"Defaults": {"The zero value is usual.", &syncer.LeaderElection{}, ""},
		"Name":     {"It is a name.", &syncer.LeaderElection{LeaseName: "a/b"}, `LeaseName "a/b" is no name`},
		"Lease":    {"Two would lead.", &syncer.LeaderElection{LeaseDuration: 1}, "LeaseDuration (1ns) must be more than"},
		"Retry":    {"Nobody would renew it in time.", &syncer.LeaderElection{RetryPeriod: 1e10}, "times RetryPeriod (10s)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reg, err := syncer.NewRegisterContext(t.Context(), syncer.RegisterOptions{
				Virtual: virtual.config(), Physical: host.config(), Name: "red", TargetNamespace: "quay", LeaderElection: tc.e,
			})
			switch {
			case tc.want != "":
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.want)
				}
			case err != nil:
				t.Errorf("%s\n%v", tc.reason, err)
			case (reg.ProcessManager != nil) != (tc.e != nil):
				t.Errorf("%s\nthe manager of the process: %v", tc.reason, reg.ProcessManager)
			}
		})
	}
}
