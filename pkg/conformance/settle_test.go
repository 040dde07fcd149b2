package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestPatienceIsNotUsedUp: the suite does not wait for its whole patience, which is longer than any test, when nothing
// is expected to happen. TestSettledCreate has the changes that come late.
func TestPatienceIsNotUsedUp(t *testing.T) {
	s := lineSuite(t, func(*lineClient) {})
	s.Within, s.Samples, s.Patience = time.Nanosecond, s.Samples[:1], time.Hour
	for _, f := range examine(t, s).findings.list {
		t.Error(f)
	}
}

// TestSettleTime: the time grows with the slowest change, between half a second and the patience of the suite.
func TestSettleTime(t *testing.T) {
	cases := map[string]struct{ slowest, patience, delay, want time.Duration }{
		"Fast":         {time.Millisecond, time.Minute, 0, leastSettle},
		"Slow":         {time.Second, time.Minute, 0, 8 * time.Second},
		"SlowerYet":    {20 * time.Second, time.Minute, 0, time.Minute},
		"Impatient":    {time.Microsecond, time.Millisecond, 0, time.Millisecond},
		"WithADelay":   {time.Millisecond, time.Minute, time.Second, time.Second + leastSettle},
		"NothingKnown": {0, time.Minute, 0, leastSettle},
		"LongCalls":    {10 * time.Second, time.Second, 0, 20 * time.Second},
	}
	for name, c := range cases {
		k := &runner{suite: Suite{Patience: c.patience, Delay: c.delay}, ledger: &ledger{slowest: c.slowest}}
		if got := k.settleTime(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestNoteChange: the time of a call counts, also if it is known when the external system has answered. The time in
// which the suite has waited for answers after calls does not.
func TestNoteChange(t *testing.T) {
	for name, i := range map[string]Interrupter{"Proxy": &Proxy{}, "None": nil} {
		l := &ledger{wire: &wire{interrupter: i}, lastMutation: time.Now()}
		began := l.activeTime().Add(-time.Hour)
		l.wire.waited = time.Minute
		if l.noteChange(began); l.slowest < time.Hour-time.Minute || l.slowest > time.Hour {
			t.Errorf("%s: the slowest change took %s", name, l.slowest)
		}
	}
}

// A jobClient submits a job that makes a volume, and waits in Create until the job has ended.
type jobClient struct {
	*lineClient

	notCreated bool // a lost answer to the submission is taken for "nothing was created"
}

// jobTime is how long a job takes. It is longer than what the suite waits at least.
const jobTime = leastSettle + 200*time.Millisecond

var errTakenByJob = errors.New("another job makes it")

func (c *jobClient) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return c, nil
}

func (c *jobClient) Create(ctx context.Context, mg resource.Managed) error {
	name := meta.GetExternalName(mg)
	switch answer, err := c.ask(ctx, "JOB", name, "10", string(mg.GetUID())); {
	case err != nil && c.notCreated:
		return external.NotCreated(err)
	case err != nil:
		return err
	case answer[0] == "TAKEN":
		return external.AlreadyExists(errTakenByJob)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(jobTime / 3):
		}
		if answer, err := c.ask(ctx, "GET", name); err != nil || answer[0] == "OK" {
			return err
		}
	}
}

// TestSubmitAndPoll: a resource that appears long after Create has lost its connection, because Create waits for a job,
// is found, and is not attributed to a later call.
func TestSubmitAndPoll(t *testing.T) {
	for name, notCreated := range map[string]bool{"Right": false, "NotCreated": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lineSuite(t, func(*lineClient) {})
			inner, probe := s.NewConnecter, s.Probe.(lineProbe) // of lineSuite
			s.Probe = struct {                                  // neither a Breaker nor a Silencer
				Probe
				Interrupter
				requestTracker
			}{probe, probe.Proxy, probe.Proxy}
			s.Within, s.Samples, s.NewConnecter = time.Nanosecond, s.Samples[:1], func() managed.ExternalConnecter {
				return &jobClient{inner().(*lineClient), notCreated} // of lineSuite
			}
			found := false
			for _, f := range examine(t, s).findings.list {
				if found = found || f.property == "refusal-is-true"; !notCreated || f.property != "refusal-is-true" {
					t.Error(f)
				}
			}
			if found != notCreated {
				t.Errorf("found %t, want %t", found, notCreated)
			}
		})
	}
}
