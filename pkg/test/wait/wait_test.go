package wait

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// idle is the pace of the reference: budgets are the least ones.
var idle = pace{slowness: 1, processors: referenceProcessors}

func always(p pace) func() pace { return func() pace { return p } }

// A fakeTest is a test that records its failure, and continues.
type fakeTest struct {
	context  func() context.Context
	failures []string
	cleanups []func()
}

func newFakeTest(t *testing.T) (_ *fakeTest, end context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &fakeTest{context: func() context.Context { return ctx }}

	return f, func() {
		cancel()
		for len(f.cleanups) > 0 {
			last := len(f.cleanups) - 1
			do := f.cleanups[last]
			f.cleanups = f.cleanups[:last]
			do()
		}
	}
}

func (f *fakeTest) Helper()                  {}
func (f *fakeTest) Cleanup(do func())        { f.cleanups = append(f.cleanups, do) }
func (f *fakeTest) Context() context.Context { return f.context() }
func (f *fakeTest) Fatalf(format string, args ...any) {
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

// A limitedTest is a fakeTest with a deadline.
type limitedTest struct {
	*fakeTest

	deadline time.Time
}

func (l *limitedTest) Deadline() (time.Time, bool) { return l.deadline, !l.deadline.IsZero() }

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began, looks := newBudgets(always(idle)), time.Now(), 0
		f, end := newFakeTest(t)
		defer end()

		b.until(f, "it holds at once", func() bool { looks++; return true })
		if looks != 1 || time.Since(began) != 0 {
			t.Errorf("What holds was looked at %d times, for %v.", looks, time.Since(began))
		}

		const takes = 10 * time.Second
		b.until(f, "it holds", func() bool { looks++; return time.Since(began) >= takes })
		if took := time.Since(began); took > takes+longestPause {
			t.Errorf("What holds after %v was seen after %v.", takes, took)
		}
		if looks > 120 {
			t.Errorf("Within %v there were %d looks.", takes, looks)
		}
		looks, began = 0, time.Now()
		b.until(f, "a look takes long",
			func() bool { looks++; <-time.After(100 * time.Millisecond); return time.Since(began) >= time.Second })
		if looks > 6 {
			t.Errorf("Looks of 100 ms took more than half of a second: %d.", looks)
		}
		if len(f.failures) > 0 {
			t.Errorf("The test failed: %q", f.failures)
		}
	})
}

func TestUntilInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := newBudgets(always(idle)), time.Now()
		f, end := newFakeTest(t)
		defer end()

		<-time.After(time.Second)
		b.until(f, "time goes back", func() bool { return false })
		if took := time.Since(began); took != time.Second+leastBudget {
			t.Errorf("The wait ended after %v, want the budget and the second before it.", took)
		}

		// There is one budget: the next wait checks once more and fails.
		looks := 0
		b.until(f, "there is time again", func() bool { looks++; return false })
		if took := time.Since(began); looks != 1 || took != time.Second+leastBudget {
			t.Errorf("With no budget left, a wait looked %d times, until %v.", looks, took)
		}
		b.until(f, "it holds", func() bool { return true })

		want := []string{
			"waited in vain for 3m0s: time goes back; the test's budget of 3m0s is over (" + idle.String() + ")",
			"waited in vain for 0s: there is time again; the test's budget of 3m0s is over (" + idle.String() + ")",
		}
		if diff := cmp.Diff(want, f.failures); diff != "" {
			t.Errorf("failures: -want, +got:\n%s", diff)
		}
	})
}

// TestUntilLooksAtTheEnd: Until checks its condition at the end of the budget, however long the last pause was.
func TestUntilLooksAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := newBudgets(always(idle)), time.Now()
		f, end := newFakeTest(t)
		defer end()

		b.until(f, "the budget is over", func() bool { return time.Since(began) >= leastBudget })
		if len(f.failures) > 0 {
			t.Errorf("The test failed: %q", f.failures)
		}
	})
}

// TestAllow: Allow makes a budget longer, more so on a slow machine, but not beyond the deadline.
func TestAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(&fakeTest{}, leastBudget)
		<-time.After(time.Second)
		b.more(time.Hour)
		if left := b.left(); left != leastBudget+time.Hour-time.Second {
			t.Errorf("Of 3 minutes and an hour %v are left.", left)
		}

		b = newBudget(&limitedTest{fakeTest: &fakeTest{}, deadline: time.Now().Add(30 * time.Minute)}, leastBudget)
		<-time.After(time.Minute)
		b.more(time.Hour)
		if left := b.left(); left != 28*time.Minute+30*time.Second {
			t.Errorf("Half an hour before the deadline, %v are left after a minute.", left)
		}
	})
}

// TestMeter: a meter measures once, unless the clock did not advance.
func TestMeter(t *testing.T) {
	n := 0
	m := &meter{measure: func() (pace, time.Duration) {
		n++

		return pace{slowness: float64(n)}, time.Duration(n / 2)
	}}
	var got []float64
	for range 4 {
		got = append(got, m.pace().slowness)
	}
	if diff := cmp.Diff([]float64{1, 2, 2, 2}, got); diff != "" {
		t.Errorf("paces: -want, +got:\n%s", diff)
	}
}

// TestBubble waits in a bubble, where the method Deadline of *testing.T panics.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		Until(t, "a minute of the bubble is over", func() bool { return time.Since(began) > time.Minute })
		if left := Budget(t); left < leastBudget-2*time.Minute {
			t.Errorf("%v are left", left)
		}
		<-Context(t).Done()
	})
}

func TestBudgetIsOnePerTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudgets(always(idle))
		one, endOne := newFakeTest(t)
		two, endTwo := newFakeTest(t)
		defer endTwo()

		first := b.of(one)
		<-time.After(time.Minute)
		if b.of(one) != first {
			t.Error("A test has got two budgets.")
		}
		if left := b.of(two).left(); left != leastBudget {
			t.Errorf("The second test has %v left, want a budget of its own.", left)
		}

		endOne()
		if len(b.tests) != 1 {
			t.Errorf("%d budgets are kept, want that of the test which runs.", len(b.tests))
		}
	})
}

// TestBudgetOfEmbedder: a type that embeds a test shares its budget, and a subtest has its own.
func TestBudgetOfEmbedder(t *testing.T) {
	b := newBudgets(always(idle))
	type world struct{ *testing.T }

	one, other := &world{t}, &world{t}
	if b.of(one) != b.of(t) || b.of(other) != b.of(one) {
		t.Error("A test has got another budget by another name.")
	}
	t.Run("Sub", func(sub *testing.T) {
		if b.of(&world{sub}) == b.of(t) {
			t.Error("A subtest has the budget of its parent.")
		}
	})
	if len(b.tests) != 1 {
		t.Errorf("%d budgets are kept, want that of the test which runs.", len(b.tests))
	}
}

// TestBudgetOfCleanups: cleanups may wait although the test has used up its budget, together as long as a test, but not
// beyond the deadline.
func TestBudgetOfCleanups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudgets(always(idle))
		f, end := newFakeTest(t)
		b.until(f, "time goes back", func() bool { return false })
		f.Cleanup(func() {
			began := time.Now()
			b.until(f, "a minute is over", func() bool { return time.Since(began) >= time.Minute })
			if left := b.of(f).left(); left > leastBudget-time.Minute {
				t.Errorf("After a minute, the cleanups have %v left.", left)
			}
		})
		end()
		if len(f.failures) != 1 {
			t.Errorf("failures: want that of the test, got %q", f.failures)
		}
		if len(b.tests) != 0 {
			t.Errorf("%d budgets are kept of a test that is over.", len(b.tests))
		}

		f, end = newFakeTest(t)
		limited := &limitedTest{fakeTest: f, deadline: time.Now().Add(time.Minute)}
		b.until(limited, "time goes back", func() bool { return false })
		f.Cleanup(func() {
			if left := b.of(limited).left(); left != 5400*time.Millisecond {
				t.Errorf("6 s before the deadline, the cleanups have %v left, want nine tenths of it.", left)
			}
		})
		end()
	})
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudgets(always(idle))
		f, end := newFakeTest(t)
		ctx := b.of(f).context()
		if b.of(f).context() != ctx {
			t.Error("A test has got two contexts.")
		}
		<-time.After(leastBudget - 1)
		if err := ctx.Err(); err != nil {
			t.Errorf("The context ended before the budget: %v", err)
		}
		<-ctx.Done()
		if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(context.Cause(ctx).Error(), "budget") {
			t.Errorf("The context ended with %v because of %v, want the budget.", err, context.Cause(ctx))
		}
		end()

		f, end = newFakeTest(t)
		ctx = b.of(f).context()
		end()
		if err := ctx.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("The context of a test that ended: want canceled, got %v", err)
		}
	})
}

func TestBudgetEndsBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudgets(always(idle))
		f, end := newFakeTest(t)
		defer end()

		if left := b.of(&limitedTest{fakeTest: f}).left(); left != leastBudget {
			t.Errorf("Without a deadline: want %v, got %v", leastBudget, left)
		}
		f, end = newFakeTest(t)
		defer end()
		if left := b.of(&limitedTest{fakeTest: f,
			deadline: time.Now().Add(time.Minute)}).left(); left != 54*time.Second {
			t.Errorf("With one minute: want nine tenths of it, got %v", left)
		}
	})
}

func TestCut(t *testing.T) {
	cases := map[string]struct {
		reason      string
		whole, away time.Duration
		want        time.Duration
	}{
		"Far": {reason: "A deadline behind it does not matter.", whole: 3 * time.Minute, away: time.Hour,
			want: 3 * time.Minute},
		"Long": {reason: "Half a minute stays, and no more.", whole: 30 * time.Minute, away: 10 * time.Minute,
			want: 9*time.Minute + 30*time.Second},
		"Near": {reason: "A tenth stays.", whole: 3 * time.Minute, away: 100 * time.Second, want: 90 * time.Second},
		"Past": {reason: "There is nothing left.", whole: 3 * time.Minute, away: -time.Second, want: 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := cut(tc.whole, tc.away); got != tc.want {
				t.Errorf("%s\ncut(%v, %v) = %v, want %v", tc.reason, tc.whole, tc.away, got, tc.want)
			}
		})
	}
}

func TestScale(t *testing.T) {
	cases := map[string]struct {
		reason string
		pace   pace
		want   time.Duration
	}{
		"Reference": {reason: "The least.", pace: idle, want: 3 * time.Minute},
		"Zero":      {reason: "What was not measured is one processor.", want: 12 * time.Minute},
		"Fast": {reason: "Never less than the least.", pace: pace{slowness: 0.1, processors: 64},
			want: 3 * time.Minute},
		"Slow": {reason: "As much longer as work takes.", pace: pace{slowness: 2.5, processors: 8},
			want: 7*time.Minute + 30*time.Second},
		"Few": {reason: "Half the processors, twice the time.", pace: pace{slowness: 1, processors: 2},
			want: 6 * time.Minute},
		"SlowAndFew": {reason: "Both.", pace: pace{slowness: 1.5, processors: 2}, want: 9 * time.Minute},
		"Crawling": {
			reason: "There is an end to it.", pace: pace{slowness: 1e300, processors: 1},
			want: 30 * time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.pace.scale(3 * time.Minute); got != tc.want {
				t.Errorf("%s\nwant %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	cases := map[string]struct {
		reason string
		done   []int
		took   time.Duration
		want   pace
	}{
		"Reference": {reason: "As long as expected.", done: []int{100, 100}, took: 100 * referenceChunk,
			want: pace{slowness: 1, processors: 2}},
		"Fast": {reason: "Faster is not told.", done: []int{100, 100}, took: referenceChunk,
			want: pace{slowness: 1, processors: 2}},
		"Slow": {reason: "Four times as long.", done: []int{100}, took: 400 * referenceChunk,
			want: pace{slowness: 4, processors: 1}},
		"Uneven": {reason: "A processor that something else has counts.", done: []int{150, 50},
			took: 200 * referenceChunk,
			want: pace{slowness: 2, processors: 2}},
		"Fake": {reason: "A clock that stands still.", done: []int{200}, want: pace{slowness: 1, processors: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, judge(tc.done, tc.took), cmp.AllowUnexported(pace{})); diff != "" {
				t.Errorf("%s\njudge(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMeasure logs the pace of this machine. It checks no figure.
func TestMeasure(t *testing.T) {
	p, took := measure()
	t.Log(p, took)
	if p.slowness < 1 || p.processors < 1 || took <= 0 {
		t.Errorf("measure() = %+v, want at least 1 of each", p)
	}
}

// TestProcess calls the exported functions, with and without a deadline of the test.
func TestProcess(t *testing.T) {
	if left := Budget(t); left <= 0 || left > mostFactor*leastBudget {
		t.Errorf("Budget(t) = %v", left)
	}
	before := Budget(t)
	Allow(t, time.Second)
	if _, limited := t.Deadline(); !limited && Budget(t) <= before {
		t.Errorf("A second more is %v, after %v.", Budget(t), before)
	}
	if Patience() < leastBudget {
		t.Errorf("Patience() = %v", Patience())
	}
	if end, limited := Context(t).Deadline(); !limited || time.Until(end) > Budget(t)+time.Second {
		t.Errorf("The context ends at %v, the budget in %v.", end, Budget(t))
	}
	if end, limited := t.Deadline(); limited && !time.Now().Add(Budget(t)).Before(end) {
		t.Error("The budget ends after the deadline of the test.")
	}
	looks := 0
	Until(t, "it was looked at twice", func() bool { looks++; return looks == 2 })
}
