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

// A processManager is the manager of a process, whose election the test controls.
type processManager struct {
	manager.Manager

	steps   *stepLog
	elected chan struct{}
	fail    chan error
	checks  map[string]healthz.Checker
}

func newProcessManager(steps *stepLog) *processManager {
	return &processManager{
		steps: steps, elected: make(chan struct{}), fail: make(chan error, 1), checks: map[string]healthz.Checker{},
	}
}

func (c *processManager) Elected() <-chan struct{} { return c.elected }

func (c *processManager) AddReadyzCheck(name string, check healthz.Checker) error {
	c.checks[name] = check
	return nil
}

func (c *processManager) Start(ctx context.Context) error {
	c.steps.add("the process begins")
	defer c.steps.add("the process ends")
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.fail:
		return err
	}
}

func (c *processManager) ready() bool { return c.checks["syncers"](nil) == nil }

// TestRunnerElection verifies that a candidate does nothing and is ready, that the leader
// starts everything, and that the Runner ends with an error if it loses the election.
func TestRunnerElection(t *testing.T) {
	did := []string{
		"the process begins", "one: init", "one: indices", "host is filled", "virtual is filled", "one: register",
	}
	cases := map[string]struct {
		reason   string
		elected  bool
		then     func(c *processManager, stop func())
		is       error
		steps    []string
		ready    bool
		runnable bool
	}{
		"Waits": {
			"A candidate does nothing until the context ends.", false, func(_ *processManager, stop func()) { stop() }, nil,
			[]string{"the process begins", "the process ends"}, true, false,
		},
		"Fails": {
			"The election fails.", false, func(c *processManager, _ func()) { c.fail <- errBoom }, errBoom,
			[]string{"the process begins", "the process ends"}, true, false,
		},
		"Stopped": {
			"When the context ends, the leader releases the lease last.", true, func(_ *processManager, stop func()) { stop() },
			nil, append(did, "the process ends"), true, true,
		},
		"Loses": {
			"A leader that loses the lease stops.", true, func(c *processManager, _ func()) { c.fail <- errBoom }, errBoom,
			append(did, "the process ends"), true, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRunnerTest(t)
				c := newProcessManager(r.steps)
				r.reg.ProcessManager = c
				r.register(stepItem{name: "one", steps: r.steps})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				r.start(ctx)
				if r.ready() || r.host.running() || !c.ready() {
					t.Errorf("%s\nready or running before the election; readyz: %t", tc.reason, c.ready())
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

// TestRunnerReadyzAfterCacheSync verifies that a leader is ready only when its syncers
// run.
func TestRunnerReadyzAfterCacheSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunnerTest(t)
		c := newProcessManager(r.steps)
		r.reg.ProcessManager = c
		filled := make(chan struct{})
		r.host.cache.sync = func(context.Context) bool { <-filled; return true }
		r.register(stepItem{name: "one", steps: r.steps})
		ctx, stop := context.WithCancel(t.Context())
		close(c.elected)
		r.start(ctx)
		if c.ready() {
			t.Error("ready before the caches have synced")
		}
		close(filled)
		<-r.runner.Ready()
		if !c.ready() {
			t.Error("not ready although the syncers run")
		}
		stop()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// TestRegisterContextLeaderElectionOptions verifies that invalid options of the election
// are errors, and that there is no process manager without options.
func TestRegisterContextLeaderElectionOptions(t *testing.T) {
	virtual, host := newSmallAPIServer(t, "virtual"), newSmallAPIServer(t, "host")
	cases := map[string]struct {
		reason string
		e      *syncer.LeaderElection
		want   string
	}{
		"None":     {"No election.", nil, ""},
		"Defaults": {"The zero value is valid.", &syncer.LeaderElection{}, ""},
		"Name":     {"The name is invalid.", &syncer.LeaderElection{LeaseName: "a/b"}, `LeaseName "a/b" is not a valid name`},
		"Lease": {
			"Two processes could lead.", &syncer.LeaderElection{LeaseDuration: 1}, "LeaseDuration (1ns) must be greater than",
		},
		"Retry": {
			"The lease could not be renewed in time.", &syncer.LeaderElection{RetryPeriod: 1e10}, "times RetryPeriod (10s)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reg, err := syncer.NewRegisterContext(t.Context(), syncer.RegisterOptions{
				Virtual: virtual.config(), Physical: host.config(), Name: "red", TargetNamespace: "host-ns", LeaderElection: tc.e,
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
