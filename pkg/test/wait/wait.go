package wait

import (
	"context"
	"time"
)

// How long Until pauses between two looks. It begins with the shortest pause and doubles
// it, until it is one of the first pauses. From then on it is a part of the time it has
// waited, or what the last look took if that is more: so what holds soon costs no time, and
// what holds late costs no processor.
const (
	shortestPause = time.Millisecond
	firstPauses   = 20 * time.Millisecond
	pausePart     = 20
	longestPause  = 250 * time.Millisecond
)

// A TB is what a wait needs of a test, a benchmark or a fuzz target: each testing.TB has
// it, and so has what embeds one, which is the same test. The type behind it is comparable,
// as a pointer is. If it has a method Deadline, as *testing.T does, its budget ends before
// that.
type TB interface {
	Helper()
	Cleanup(f func())
	Context() context.Context
	Fatalf(format string, args ...any)
}

// Until returns when holds returns true. It calls holds at once, then after pauses that
// grow from 1 ms to 20 ms and, when it has waited for 5 s, to 250 ms, and a last time when the budget of the test is over; then it fails the
// test with what, such as "the ship is moored", and how long it waited. It cannot interrupt
// holds: give Context to what may hang.
//
// Until calls holds in its own goroutine, which has to be that of the test, as for
// t.Fatalf. In a cleanup it waits as well: it does not end with t.Context.
func Until(t TB, what string, holds func() bool) {
	t.Helper()
	process.until(t, what, holds)
}

// Budget returns what is left of the time that t may wait, all its waits together, and
// never less than zero. The first call for t, by whatever function of this package,
// starts the budget: it runs on while t does not wait. A subtest has a budget of its own,
// and so have the cleanups of a test, all together, whatever the test has left of its own.
//
// A whole budget is 3 minutes on a machine with four processors and nothing else to do. It
// grows with how long a piece of work of a few milliseconds takes, which is done once per
// process and takes 20 ms of an idle machine at most, and with how few processors there
// are, up to 30 minutes. It ends half a minute before t.Deadline, or a tenth of the time
// until then.
//
// Budget may be called from several goroutines.
func Budget(t TB) time.Duration {
	t.Helper()

	return process.of(t).left()
}

// Allow makes the budget of t longer, for a test that has much to do: by d where the
// budget is 3 minutes, and in proportion where it is more. Call it before Context, whose
// end stays where it is. It may be called from several goroutines.
func Allow(t TB, d time.Duration) {
	t.Helper()
	process.of(t).more(process.pace().scale(d))
}

// Patience returns a whole budget on this machine, of a test without a deadline. It is for
// where there is no test: TestMain, and programs that tests start and that wait themselves.
// It may be called from several goroutines.
func Patience() time.Duration { return process.pace().scale(leastBudget) }

// Context returns a context that ends with the budget of t, as Budget counts it, and with
// t.Context: in a cleanup it is over. Its cause says which of both it was. Each call for t
// returns the same context, and may come from any goroutine.
func Context(t TB) context.Context {
	t.Helper()

	return process.of(t).context()
}
