package wait

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A budget is the total time that one test may wait.
type budget struct {
	context func() context.Context

	mu       sync.Mutex
	whole    time.Duration
	end      time.Time
	deadline time.Time // of the process, or zero
	cleaning bool      // it is the budget of the cleanups
}

// newBudget starts the budget of t, which ends before the deadline.
func newBudget(t TB, whole time.Duration) *budget {
	b := &budget{end: time.Now(), deadline: deadline(t)}
	b.more(whole)
	b.context = sync.OnceValue(func() context.Context {
		cause := fmt.Errorf("the test's budget of %v is over", b.total())
		ctx, cancel := context.WithDeadlineCause(t.Context(), time.Now().Add(b.left()), cause)
		t.Cleanup(cancel)

		return ctx
	})

	return b
}

// more makes a budget longer.
func (b *budget) more(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.extend(d)
}

// cleanUp restarts a budget for the cleanups of its test, once: the test may have used it up, and its cleanups need
// time as well.
func (b *budget) cleanUp(whole time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cleaning {
		return
	}
	b.cleaning, b.whole, b.end = true, 0, time.Now()
	b.extend(whole)
}

// extend makes a budget longer. The caller holds the lock.
func (b *budget) extend(d time.Duration) {
	begin := b.end.Add(-b.whole)
	b.whole += d
	if !b.deadline.IsZero() {
		b.whole = cut(b.whole, b.deadline.Sub(begin))
	}
	b.end = begin.Add(b.whole)
}

// left returns the rest of the budget.
func (b *budget) left() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()

	return max(0, time.Until(b.end))
}

// total returns the whole budget, rounded for messages.
func (b *budget) total() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.whole.Round(time.Millisecond)
}

// deadline returns when the process of t is ended, or zero if that is unknown.
func deadline(t TB) (at time.Time) {
	d, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return time.Time{}
	}
	// In a bubble of synctest Deadline panics: the deadline is not one of the fake clock.
	defer func() {
		if recover() != nil {
			at = time.Time{}
		}
	}()
	at, _ = d.Deadline()

	return at
}

// ended reports whether the function of a test has returned, and its cleanups run.
func ended(t TB) bool { return t.Context().Err() != nil }

// identity returns a value that a test shares with every type that embeds it: the Done channel of its context. If the
// context never ends, it returns t.
func identity(t TB) any {
	if end := t.Context().Done(); end != nil {
		return end
	}

	return t
}

// A budgets has the budgets of the running tests.
type budgets struct {
	pace func() pace

	mu    sync.Mutex
	tests map[any]*budget // by identity
}

// newBudgets returns empty budgets for a machine with that pace.
func newBudgets(pace func() pace) *budgets {
	return &budgets{pace: pace, tests: map[any]*budget{}}
}

// process has the budgets of all tests of this process. It is global because two waits of a test share only t.
var process = newBudgets((&meter{measure: measure}).pace)

// of returns the budget of t, which starts at the first call and is dropped when t ends.
func (b *budgets) of(t TB) *budget {
	b.mu.Lock()
	defer b.mu.Unlock()

	id := identity(t)
	if known, ok := b.tests[id]; ok {
		if ended(t) {
			known.cleanUp(b.whole())
		}

		return known
	}

	started := newBudget(t, b.whole())
	started.cleaning = ended(t)
	b.tests[id] = started
	t.Cleanup(func() { b.forget(id) })

	return started
}

// whole returns the initial length of a budget.
func (b *budgets) whole() time.Duration { return b.pace().scale(leastBudget) }

// forget drops the budget of a test that ends. A cleanup that waits later starts another one.
func (b *budgets) forget(id any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.tests, id)
}

// until implements Until with these budgets.
func (b *budgets) until(t TB, what string, holds func() bool) {
	t.Helper()

	mine, began := b.of(t), time.Now()
	for pause := shortestPause; ; pause = min(2*pause, firstPauses) {
		looked := time.Now()
		if holds() {
			return
		}
		left := mine.left()
		if left == 0 {
			t.Fatalf("waited in vain for %v: %s; the test's budget of %v is over (%v)",
				time.Since(began).Round(time.Millisecond), what, mine.total(), b.pace())

			return
		}
		<-time.After(min(max(pause, time.Since(looked), time.Since(began)/pausePart), longestPause, left))
	}
}

// The time that stays before the deadline of the test binary, for the failure message and for cleanups.
const (
	mostReserve = 30 * time.Second
	reservePart = 10
)

// cut shortens a budget to fit before a deadline that is the given time away.
func cut(whole, away time.Duration) time.Duration {
	return max(0, min(whole, away-min(away/reservePart, mostReserve)))
}
