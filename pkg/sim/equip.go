package sim

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A timepiece is the clock of a process, which stands still while that is made.
type timepiece struct {
	stepped

	stands time.Time // zero: it goes
}

func (t *timepiece) Now() time.Time {
	if !t.stands.IsZero() {
		return t.stands
	}

	return t.stepped.Now()
}

func (t *timepiece) Since(past time.Time) time.Duration { return t.Now().Sub(past) }

// The first process was there so long before the first object: what users create is new to it.
const there = time.Hour

// made returns when the reconciler of the process was made, or the process became the leader, by its own clock.
func (p *process) made() time.Time {
	if p.number == 1 {
		return p.began.Add(p.clock.by - there)
	}

	return p.began.Add(p.clock.by)
}

// A standby is the manager of a process that may wait to become the leader.
type standby struct {
	*fake.Manager

	leads   bool
	elected []manager.Runnable
}

// Elected returns a channel that is closed if the process leads.
func (s *standby) Elected() <-chan struct{} {
	if s.leads {
		return s.Manager.Elected()
	}

	return nil
}

// Add keeps what is to be started when the process leads.
func (s *standby) Add(r manager.Runnable) error {
	s.elected = append(s.elected, r)

	return nil
}

// lead starts what was added. None of it fails.
func (s *standby) lead(ctx context.Context) {
	s.leads = true
	for _, r := range s.elected {
		_ = r.Start(ctx)
	}
}

// equip gives the process its reconciler: the first process leads when that is made, and the others have waited until
// they begin.
func (p *process) equip() {
	w := p.world
	direct := w.server.Client().As("provider").Around(p.ask)
	m := &fake.Manager{Client: &cached{Client: direct, process: p}, Scheme: w.config.Scheme}
	waits := &standby{Manager: m, leads: p.number == 1}
	clock := &timepiece{stepped: p.clock, stands: p.made()}
	if !waits.leads { // the process was there before, and did not lead
		clock.stands = clock.stands.Add(-there)
	}
	options := []managed.ReconcilerOption{
		managed.WithCluster(split{m, noting{direct, p}, p}),
		managed.WithClock(clock),
		managed.WithRandom(w.random.Float64),
		managed.WithObjectStates(&p.states),
		managed.WithPollInterval(pollInterval),
		managed.WithMetricsRegisterer(p.meters),
		managed.WithTracerProvider(tracers{to: w.told}),
		managed.WithRecorder(w.told),
		managed.WithLogger(w.told),
		managed.WithExternalConnecter(&seam{of: w.config.connecter(direct), process: p}),
	}
	if !w.config.alone {
		options = append(options, managed.WithLeaseDeadline(p.lease))
	}
	if w.restored || w.deafened {
		options = append(options, managed.WithLogger(voice{w.told, p}))
	}
	if !w.config.refers.Empty() {
		options = append(options, managed.WithLogger(aside{voice{w.told, p}}))
	}
	if p.restores = nil; w.restored {
		p.restores = controller.NewRestoreDetector(controller.WithRestoreLogger(voice{w.told, p}))
		options = append(options, managed.WithRestoreDetector(p.restores))
	}
	if w.config.limited {
		options = append(options, managed.WithLimits(limit.NewSet(limit.WithClock(clock))))
	}
	if w.config.recorded {
		options = append(options, managed.WithChangeLog(ledger{p}))
	}
	if w.config.told {
		options = append(options, managed.WithExternalEvents(lookout{p}, rarely))
	}
	real := p.reconciler(waits, append(options, w.config.Options...))
	clock.stands = p.made()
	waits.lead(p.ctx)
	clock.stands = time.Time{}
	p.reconcile, p.watches = real, real.Predicate()
	p.hears = func() {}
	if w.config.told {
		p.hears = func() { _ = real.Notifications().Start(p.ctx, bell{process: p}) } // it cannot fail
	}
	p.hears()
	p.refers(real)
	if w.config.replace != nil {
		p.reconcile, p.states = w.config.replace(p, m.Client), objectstate.Handle{}
	}
}
