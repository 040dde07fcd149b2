package cli

import (
	"context"
	"errors"
)

// errInterrupted is returned if the user interrupts a command.
var errInterrupted = errors.New("interrupted")

// interruptible returns what read returns, or errInterrupted once ctx ends. A read of the standard input cannot be
// canceled: then it goes on until the process ends, so read must not write what others read.
func interruptible[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}

	answered := make(chan answer, 1)

	go func() {
		value, err := read()
		answered <- answer{value, err}
	}()

	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		var none T

		return none, errInterrupted
	}
}
