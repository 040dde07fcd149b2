package wait

import (
	"context"
	"time"
)

// How long Until pauses between two calls of its condition. The pause starts at
// shortestPause and doubles up to firstPauses. From then on it is 1/pausePart of the time
// waited, or the duration of the last call if that is longer, and longestPause at most: a
// short wait takes no time, and a long one no processor.
const (
	shortestPause = time.Millisecond
	firstPauses   = 20 * time.Millisecond
	pausePart     = 20
	longestPause  = 250 * time.Millisecond
)

// A TB has the methods of a test, a benchmark or a fuzz target that this package uses. Each testing.TB implements it.
// A type that embeds a TB shares the budget of that TB. The dynamic type must be comparable, as a pointer is. If the
// type has a method Deadline, as *testing.T has, the budget ends before that deadline.
type TB interface {
	Helper()
	Cleanup(f func())
	Context() context.Context
	Fatalf(format string, args ...any)
}

// Until waits until holds returns true. It calls holds at once, and then repeatedly, after pauses that grow from 1 ms
// to 250 ms. When the budget of t is over, it calls holds once more and then fails the test. The failure message
// contains the argument what, such as "the object is Ready", and the time waited. Until cannot interrupt holds. Use
// Context for calls in holds that may hang.
//
// Call Until from the goroutine of the test, as t.Fatalf requires. Until calls holds in that goroutine. It also waits
// in a cleanup, because it does not end with t.Context.
func Until(t TB, what string, holds func() bool) {
	t.Helper()
	process.until(t, what, holds)
}

// Budget returns how long t may still wait, in all its waits together. It is never negative. The first call of a
// function of this package with t starts the budget, which also runs while t does not wait. A subtest has its own
// budget. The cleanups of a test share a separate budget, even if the test has used up its own.
//
// A whole budget is 3 minutes on an idle machine with four processors. It is longer, up to 30 minutes, on fewer or
// slower processors. A benchmark of at most 20 ms measures them once per process. The budget ends before t.Deadline,
// by 30 s or by a tenth of the time until then, whichever is shorter.
//
// Budget may be called from several goroutines.
func Budget(t TB) time.Duration {
	t.Helper()

	return process.of(t).left()
}

// Allow extends the budget of t, for a test that takes long. It adds d where the whole budget is 3 minutes, and
// proportionally more where it is longer. Call Allow before Context, because the deadline of a context does not
// change. It may be called from several goroutines.
func Allow(t TB, d time.Duration) {
	t.Helper()
	process.of(t).more(process.pace().scale(d))
}

// Patience returns the whole budget of a test without a deadline on this machine. It is for code that has no TB, such
// as TestMain and programs that tests start. It may be called from several goroutines.
func Patience() time.Duration { return process.pace().scale(leastBudget) }

// Context returns a context that ends with the budget of t, see Budget, or with t.Context. Its cause says which of
// the two has ended. In a cleanup t.Context has already ended, so use Until there. Each call for t returns the same
// context. Context may be called from any goroutine.
func Context(t TB) context.Context {
	t.Helper()

	return process.of(t).context()
}
