package wait_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A script stands for the t of your test, which an example does not have.
type script struct{}

func (*script) Helper()                           {}
func (*script) Cleanup(func())                    {}
func (*script) Context() context.Context          { return context.Background() }
func (*script) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func ExampleUntil() {
	t := &script{}

	var ready atomic.Bool
	go ready.Store(true)

	wait.Until(t, "the object is Ready", ready.Load)
	fmt.Println("ready:", ready.Load())
	// Output: ready: true
}

func ExampleContext() {
	t := &script{}

	events := make(chan string)
	go func() { events <- "created" }()

	select {
	case got := <-events:
		fmt.Println("event:", got)
	case <-wait.Context(t).Done():
		t.Fatalf("no event: %v", context.Cause(wait.Context(t)))
	}
	// Output: event: created
}

func ExampleBudget() {
	t := &script{}

	timeout := wait.Budget(t) / 2 // for a client that takes a duration
	fmt.Println("enough:", timeout.Minutes() > 1)
	// Output: enough: true
}
