// Package wait lets a test wait for another process or goroutine, without a fixed timeout in seconds.
//
// Each test has one time budget, which all its waits share. Its subtests have their own budgets, and its cleanups
// share another one. The budget is generous, and longer on a slow or busy machine, where a fixed timeout would fail a
// correct test. If a condition does not become true in that time, the test fails and names the condition.
//
// Begin with Until. Context limits calls that take a context, and ends a select:
//
//	select {
//	case event := <-events:
//	case <-wait.Context(t).Done():
//		t.Fatal("no event")
//	}
//
// In a bubble of testing/synctest a budget uses the fake clock. Prefer synctest.Wait where it is sufficient.
package wait
