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

// A TB has the methods of a test, a benchmark or a fuzz target that this package uses. Each testing.TB
// is one. A type that embeds one shares its budget. The dynamic type must be comparable, as
// a pointer is. If it has a method Deadline, as *testing.T does, its budget ends before that.
type TB interface {
	Helper()
	Cleanup(f func())
	Context() context.Context
	Fatalf(format string, args ...any)
}

// Until returns when holds returns true. It calls holds at once, and then repeatedly, after
// pauses that grow from 1 ms to 250 ms. When the budget of t is over it calls holds once
// more and then fails the test: the message has what, such as "the object is Ready", and
// the time waited. It cannot interrupt holds: give Context to calls that may hang.
//
// Until calls holds in its own goroutine, which has to be that of the test, as for
// t.Fatalf. In a cleanup it waits as well: it does not end with t.Context.
func Until(t TB, what string, holds func() bool) {
	t.Helper()
	process.until(t, what, holds)
}

// Budget returns the rest of the time that t may wait, in all its waits together. It is
// never less than zero. The first call of a function of this package with t
// starts the budget, which also runs while t does not wait. A subtest has its own budget.
// The cleanups of a test share one, even if the test has used up its own.
//
// A whole budget is 3 minutes on an idle machine with four processors. It is longer, up to
// 30 minutes, on fewer or slower processors: once per process a benchmark of 20 ms at most
// measures them. The budget ends before t.Deadline, by 30 s or by a tenth of the time left
// until then, whichever is shorter.
//
// Budget may be called from several goroutines.
func Budget(t TB) time.Duration {
	t.Helper()

	return process.of(t).left()
}

// Allow makes the budget of t longer, for a test that takes long: by d where the
// budget is 3 minutes, and in proportion where it is more. Call it before Context, whose
// deadline does not change. It may be called from several goroutines.
func Allow(t TB, d time.Duration) {
	t.Helper()
	process.of(t).more(process.pace().scale(d))
}

// Patience returns the whole budget of a test without a deadline on this machine. It is for
// code that has no TB: TestMain, and programs that tests start. It may be called from
// several goroutines.
func Patience() time.Duration { return process.pace().scale(leastBudget) }

// Context returns a context that ends with the budget of t, as Budget counts it, or with
// t.Context, which is over in cleanups: there use Until. Its cause says which of the two
// ended. Each call for t returns the same context, and may come from any goroutine.
func Context(t TB) context.Context {
	t.Helper()

	return process.of(t).context()
}
