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

// A frozenClock is the clock of a process. It does not advance while the process is constructed.
type frozenClock struct {
	stepped

	at time.Time // zero: it advances
}

func (t *frozenClock) Since(past time.Time) time.Duration { return t.Now().Sub(past) }

func (t *frozenClock) Now() time.Time {
	if !t.at.IsZero() {
		return t.at
	}

	return t.stepped.Now()
}

// A standbyManager is the manager of a process that may have to wait until it becomes the leader.
type standbyManager struct {
	*fake.Manager

	leads   bool
	elected []manager.Runnable
}

// Elected returns a channel that is closed if the process is the leader.
func (s *standbyManager) Elected() <-chan struct{} {
	if s.leads {
		return s.Manager.Elected()
	}

	return nil
}

// Add stores a runnable until the process is the leader.
func (s *standbyManager) Add(r manager.Runnable) error {
	s.elected = append(s.elected, r)

	return nil
}

// standbyTime is the time for which the first process runs before the first object is created. All objects are thus new
// to the process.
const standbyTime = time.Hour

// equip constructs the reconciler of the process. The first process is the leader from the beginning, and the others
// have waited as standby.
func (p *process) equip() {
	w := p.world
	direct := w.server.Client().As("provider").Around(p.ask)
	m := &fake.Manager{Client: &cached{Client: direct, process: p}, Scheme: w.config.Scheme}
	standby := &standbyManager{Manager: m, leads: p.number == 1}
	clock := &frozenClock{stepped: p.clock, at: p.startedAt()}
	if !standby.leads { // the process waited as standby
		clock.at = clock.at.Add(-standbyTime)
	}
	options := []managed.ReconcilerOption{
		managed.WithCluster(split{m, readRecorder{direct, p}, p}),
		managed.WithClock(clock),
		managed.WithRandom(w.random.Float64),
		managed.WithObjectStates(&p.runtime.states),
		managed.WithPollInterval(pollInterval),
		managed.WithMetricsRegisterer(p.runtime.meters),
		managed.WithTracerProvider(tracers{sinks: w.sinks}),
		managed.WithRecorder(w.sinks),
		managed.WithLogger(w.sinks),
		managed.WithExternalConnecter(&seam{of: w.config.connecter(direct), process: p}),
	}
	if !w.config.alone {
		options = append(options, managed.WithLeaseDeadline(p.lease))
	}
	if w.plan.restores || w.plan.blocksCalls {
		options = append(options, managed.WithLogger(processLogger{w.sinks, p}))
	}
	if !w.config.refers.Empty() {
		options = append(options, managed.WithLogger(referentLogger{processLogger{w.sinks, p}}))
	}
	if p.restored.detector = nil; w.plan.restores {
		p.restored.detector = controller.NewRestoreDetector(controller.WithRestoreLogger(processLogger{w.sinks, p}))
		options = append(options, managed.WithRestoreDetector(p.restored.detector))
	}
	if w.config.limited {
		options = append(options, managed.WithLimits(limit.NewSet(limit.WithClock(clock))))
	}
	if w.config.logsChanges {
		options = append(options, managed.WithChangeLog(ledger{p}))
	}
	if w.config.notifies {
		options = append(options, managed.WithExternalEvents(watcher{p}, notifiedPollInterval))
	}
	real := p.reconciler(standby, append(options, w.config.Options...))
	clock.at = p.startedAt()
	standby.lead(p.ctx)
	clock.at = time.Time{}
	p.runtime.reconcile, p.runtime.watches = real, real.Predicate()
	p.background.subscribe = func() {}
	if w.config.notifies {
		p.background.subscribe = func() { _ = real.Notifications().Start(p.ctx, waker{process: p}) } // it cannot fail
	}
	p.background.subscribe()
	p.refers(real)
	if w.config.replace != nil {
		p.runtime.reconcile, p.runtime.states = w.config.replace(p, m.Client), objectstate.Handle{}
	}
}

// startedAt returns the time, by the clock of the process, at which its reconciler was made or the process became the
// leader.
func (p *process) startedAt() time.Time {
	if p.number == 1 {
		return p.began.Add(p.clock.by - standbyTime)
	}

	return p.began.Add(p.clock.by)
}

// lead starts the added runnables. None of them fails.
func (s *standbyManager) lead(ctx context.Context) {
	s.leads = true
	for _, r := range s.elected {
		_ = r.Start(ctx)
	}
}
