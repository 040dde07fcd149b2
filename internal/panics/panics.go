// Package panics turns panics of code that the caller does not own into errors, so that one
// object reports the defect and the process goes on for all others.
package panics

import (
	"fmt"
	"runtime/debug"
)

// An Error is a panic that was recovered.
type Error struct {
	Value any    // the argument of panic
	Stack []byte // of the goroutine that panicked
}

// Error returns the argument of panic as a text. The stack is for the log.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the argument of panic, if that is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)

	return err
}

// Readable returns err, or an *Error if err.Error panics, as it does for a nil pointer of an
// author's own error type: such an error is not nil.
func Readable(err error) error {
	if err == nil {
		return nil
	}
	if unreadable := Call(func() error { _ = err.Error(); return nil }); unreadable != nil {
		return unreadable
	}

	return err
}

// A ProcessEnd is the argument of a panic that simulates the end of a process: code in the
// process must not recover from it.
type ProcessEnd interface{ EndsProcess() }

// Call calls fn and returns its error, or an *Error if it panics. It does not return if fn
// ends the goroutine, and lets the panic of a ProcessEnd go on.
func Call(fn func() error) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case ProcessEnd:
			panic(value)
		default:
			err = &Error{value, debug.Stack()}
		}
	}()

	return fn()
}
