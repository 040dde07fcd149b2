package port

// A TB has the methods of a test, a benchmark or a fuzz target that Free uses. Each testing.TB implements it.
type TB interface {
	Helper()
	Cleanup(f func())
	Fatalf(format string, args ...any)
}

// Free returns a port of 127.0.0.1 at which no process listens, or fails the test. The port is reserved until the
// test ends, by a separate Range. Call Free only from the goroutine of the test, because it may call t.Fatalf.
func Free(t TB) int {
	t.Helper()

	return free(t, NewRange())
}

// free is Free with the given Range.
func free(t TB, r *Range) int {
	t.Helper()
	t.Cleanup(func() { _ = r.Close() })

	port, err := r.Find()
	if err != nil {
		t.Fatalf("%v", err)
	}

	return port
}
