// Package leak looks for goroutines that tests have left, as goleak does, but waits for
// those that are about to end: a busy machine needs more than goleak's half second for
// that. Start with VerifyTestMain.
package leak

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end.
const patience = time.Minute

// VerifyTestMain runs the tests, and exits with their code. If all passed and goroutines
// are left, it tells which, and the code is 1.
func VerifyTestMain(m *testing.M, o ...goleak.Option) {
	goleak.VerifyTestMain(tests{m, o}, o...)
}

// VerifyNone fails a test if goroutines are left.
func VerifyNone(t testing.TB, o ...goleak.Option) {
	t.Helper()
	await(patience, o)
	goleak.VerifyNone(t, o...)
}

// tests are over when their goroutines are.
type tests struct {
	*testing.M

	options []goleak.Option
}

// Run runs the tests.
func (m tests) Run() int {
	code := m.M.Run()
	if code == 0 {
		await(patience, m.options)
	}

	return code
}

// await waits until no goroutine is left, and tells whether that came in time.
func await(patience time.Duration, o []goleak.Option) bool {
	for end := time.Now().Add(patience); ; {
		if goleak.Find(o...) == nil { // which looks for a while
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
