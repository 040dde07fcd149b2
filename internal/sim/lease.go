package sim

import "time"

// loseLease blocks the process until another one has become the leader. The process then continues its current
// operation and its pending work, until it notices that it lost the lease.
func (w *World) loseLease(p *process, f Fault) {
	if p.leadership.deposed {
		return
	}
	if w.config.alone {
		p.leadership.held = true
		w.run(w.now().Add(f.duration()))
		p.leadership.held = false

		return
	}
	renewed := w.now()
	p.leadership.renewed.Store(&renewed)
	p.leadership.held, p.leadership.deposed = true, true
	other := stepped{p.clock.by + skew} // of another machine
	w.in(leaseDuration, func() { w.start(other, 0) })
	w.run(w.now().Add(f.duration()))
	p.leadership.held, p.leadership.excused = false, true
	w.in(time.Second, func() { p.stop(LeaseLost) })
}

// suspendLease stops the process from renewing its lease while the API server is unavailable. If that lasts too long,
// the process ends because it lost its lease. The next process begins when the API server responds.
func (w *World) suspendLease(p *process) {
	if w.config.alone || p.leadership.deposed || p.leadership.renewed.Load() != nil {
		return
	}
	last := w.now()
	p.leadership.renewed.Store(&last)
	w.renew(p, &last)
	w.in(renewDeadline, func() {
		if !p.dead && !p.ending.stopping && p.leadership.renewed.Load() == &last && w.now().Before(w.effects.apiBack) {
			p.stop(Outage)
		}
	})
}

// renew lets the process renew its lease when the API server is available again, even if only for a short time.
func (w *World) renew(p *process, last *time.Time) {
	w.in(w.effects.apiBack.Sub(w.now()), func() {
		switch {
		case p.ending.stopping || p.leadership.renewed.Load() != last: // another has taken over, perhaps
		case w.now().Before(w.effects.apiBack):
			w.renew(p, last)
		default:
			p.leadership.renewed.Store(nil)
		}
	})
}

// lease returns the time until which the process is certainly the leader.
func (p *process) lease() time.Time {
	if p.restored.detector != nil && p.restored.detector.Restored() != nil {
		return time.Unix(0, 0)
	}
	now := p.world.now()
	renewed := now
	if last := p.leadership.renewed.Load(); last != nil {
		renewed = *last
	}

	return p.clock.Now().Add(renewed.Sub(now) + renewDeadline)
}
