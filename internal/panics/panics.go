// Package panics converts panics of code that the caller does not own to errors. One object then reports the defect,
// and the process continues for all other objects.
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

// Error returns the argument of panic as text. It does not include the stack, which is for the log.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the argument of panic if it is an error, and nil otherwise.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)

	return err
}

// Readable returns err. If the method err.Error panics, it returns an *Error instead. The method panics, for instance,
// if err holds a nil pointer of an author's own error type; such an error is not nil.
func Readable(err error) error {
	if err == nil {
		return nil
	}
	if unreadable := Call(func() error { _ = err.Error(); return nil }); unreadable != nil {
		return unreadable
	}

	return err
}

// A ProcessEnd is the argument of a panic that simulates the end of a process. Code in the process must not recover
// from that panic.
type ProcessEnd interface{ EndsProcess() }

// Call calls fn and returns its error. If fn panics, it returns an *Error instead. It does not recover from a panic
// with a ProcessEnd. It does not return if fn ends the goroutine.
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
