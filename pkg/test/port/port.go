package port

import "fmt"

// A TB is what Free needs of a test, a benchmark or a fuzz target: each testing.TB has it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Free returns a port of 127.0.0.1 at which nobody listens, or fails the test. It promises
// what Find promises, and may be called from the goroutine of the test only, as t.Fatalf.
func Free(t TB) int {
	t.Helper()

	port, err := Find()
	if err != nil {
		t.Fatalf("%v", err)
	}

	return port
}

// Find returns a port of 127.0.0.1 at which nobody listens, between 20000 and 30000. No
// system gives such a port to those who connect somewhere or ask for any, so a server that
// is down for a while finds its own free again. A process never gets the same one twice,
// and two processes that run at once get different ones, if both use Find.
//
// It returns an error if all are taken: a process gets 9,900 of them at most. It may be
// called concurrently.
func Find() (int, error) {
	port, err := process.find()
	if err != nil {
		return 0, fmt.Errorf("cannot find a free port between %d and %d: %w", first, last, err)
	}

	return port, nil
}
