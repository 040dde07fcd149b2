package sim

import "time"

// A Totals has the numbers of a run that have limits for the complete run.
type Totals struct {
	Lived                            time.Duration
	Passes, Writes, Events, Requests int

	Made int // external resources created (high bits) and deleted
}

// Totals returns the totals of the run so far.
func (w *World) Totals() Totals {
	a := Totals{Lived: w.since(), Events: w.sinks.events}
	for _, n := range w.work.served {
		a.Passes += n
	}
	for _, n := range w.work.writes {
		a.Writes += n
	}
	for _, l := range w.work.loads {
		a.Requests += l.requests
	}
	for uid, n := range w.system.created {
		a.Made += n<<16 + w.system.deleted[uid]
	}

	return a
}

// WithinBounds returns whether this run would keep the limits of a complete run (such as the number of its writes) if
// it continued like a finished run. The argument a has the totals of this run so far. The argument before has the
// totals of the finished run in the same state, and rest has the totals from that state to its end.
func (w *World) WithinBounds(a, before, rest Totals) bool {
	if !w.users.acted && len(w.exempt.surplus) == 0 && a.Made != before.Made ||
		w.now().Sub(w.guided.settling)+rest.Lived > patience {
		return false
	}
	lives := 1
	for _, n := range w.users.times {
		lives = max(lives, n)
	}
	sum := a.Plus(rest)

	return sum.Passes <= 40*lives+30*w.plan.count && sum.Requests <= 150+120*lives+60*w.plan.count &&
		sum.Writes <= w.mostWrites(lives) && sum.Events <= 8+6*w.plan.count
}

// Plus returns the sum of two Totals.
func (a Totals) Plus(b Totals) Totals {
	return Totals{a.Lived + b.Lived, a.Passes + b.Passes, a.Writes + b.Writes, a.Events + b.Events,
		a.Requests + b.Requests, a.Made + b.Made}
}

// Minus returns the difference of two Totals.
func (a Totals) Minus(b Totals) Totals {
	return Totals{a.Lived - b.Lived, a.Passes - b.Passes, a.Writes - b.Writes, a.Events - b.Events,
		a.Requests - b.Requests, a.Made - b.Made}
}
