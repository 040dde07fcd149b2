// Package wait lets a test wait for something that another process or goroutine does,
// without a bound in seconds of its own.
//
// Each test has one budget, which all its waits share. It is generous, and it grows on
// a slow or busy machine, where a fixed bound fails a test although nothing is wrong.
// What waits in vain fails with what it waited for.
//
// Begin with Until. Context bounds calls that take a context, and ends a select:
//
//	select {
//	case got := <-told:
//	case <-wait.Context(t).Done():
//		t.Fatal("nothing was told")
//	}
//
// In a bubble of testing/synctest a budget is one of the fake time there, and synctest.Wait
// is better where it does.
package wait
