package port

// A TB is what Free needs of a test, a benchmark or a fuzz target: each testing.TB has it.
type TB interface {
	Helper()
	Cleanup(f func())
	Fatalf(format string, args ...any)
}

// Free returns a port of 127.0.0.1 at which no process listens, or fails the test. It is that of a Range of its own,
// which is open until the test ends. Free may be called from the goroutine of the test only, as t.Fatalf.
func Free(t TB) int {
	t.Helper()

	return free(t, NewRange())
}

// free is Free with a Range.
func free(t TB, r *Range) int {
	t.Helper()
	t.Cleanup(func() { _ = r.Close() })

	port, err := r.Find()
	if err != nil {
		t.Fatalf("%v", err)
	}

	return port
}
