// Package wait lets a test wait for another process or goroutine, without a fixed bound in seconds.
//
// Each test has one budget, which all its waits share; its subtests and its cleanups have
// their own. The budget is generous, and longer on a slow or busy machine, where a fixed
// bound fails a test although nothing is wrong. If a condition does not become true, the
// test fails and names the condition.
//
// Begin with Until. Context bounds calls that take a context, and ends a select:
//
//	select {
//	case event := <-events:
//	case <-wait.Context(t).Done():
//		t.Fatal("no event")
//	}
//
// In a bubble of testing/synctest a budget counts by the fake clock. Prefer synctest.Wait
// where it is enough.
package wait
