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

	var moored atomic.Bool
	go moored.Store(true)

	wait.Until(t, "the ship is moored", moored.Load)
	fmt.Println("moored:", moored.Load())
	// Output: moored: true
}

func ExampleContext() {
	t := &script{}

	told := make(chan string)
	go func() { told <- "a ship" }()

	select {
	case got := <-told:
		fmt.Println("told:", got)
	case <-wait.Context(t).Done():
		t.Fatalf("nothing was told: %v", context.Cause(wait.Context(t)))
	}
	// Output: told: a ship
}

func ExampleBudget() {
	t := &script{}

	timeout := wait.Budget(t) / 2 // for a client that takes a duration
	fmt.Println("enough:", timeout.Minutes() > 1)
	// Output: enough: true
}
