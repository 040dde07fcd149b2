// Package wait lets a test wait for something that another process or goroutine does,
// without a bound in seconds of its own.
//
// Each test has one budget, which all its waits share; its subtests and its cleanups have
// their own. The budget is generous, and longer on a slow or busy machine, where a fixed
// bound fails a test although nothing is wrong. If a condition does not become true, the
// test fails and names the condition.
//
// Begin with Until. Context bounds calls that take a context, and ends a select:
//
//	select {
//	case got := <-told:
//	case <-wait.Context(t).Done():
//		t.Fatal("nothing was told")
//	}
//
// In a bubble of testing/synctest a budget is one of the fake clock. Prefer synctest.Wait
// where it is enough.
package wait
