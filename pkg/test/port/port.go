package port

import "fmt"

// A TB has the methods of a test, a benchmark or a fuzz target that Free uses. Each testing.TB is one.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Free returns a free port of 127.0.0.1, or fails the test. It has the guarantees of Find. Like t.Fatalf, it must be
// called from the goroutine of the test.
func Free(t TB) int {
	t.Helper()

	port, err := Find()
	if err != nil {
		t.Fatalf("%v", err)
	}

	return port
}

// Find returns a free port of 127.0.0.1, between 20000 and 30000. Operating systems do not use these ports for outgoing
// connections or for listeners on port 0, so a server that is down for a while finds its port free again. A process
// never gets the same port twice, and two processes that run at the same time get different ports, if both use Find.
//
// It returns an error if all ports are taken: a process gets at most 9,900 of them. It may be called concurrently.
func Find() (int, error) {
	port, err := process.find()
	if err != nil {
		return 0, fmt.Errorf("cannot find a free port between %d and %d: %w", first, last, err)
	}

	return port, nil
}
