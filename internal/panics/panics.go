// Package panics makes errors of the panics of code that a caller does not own, so that one
// object says what is wrong and the process goes on for all others.
package panics

import (
	"fmt"
	"runtime/debug"
)

// An Error is a panic that was recovered.
type Error struct {
	Value any    // what was given to panic
	Stack []byte // where it happened
}

// Error tells what was given to panic, and not where: that is for the log.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns what was given to panic, if that is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)

	return err
}

// Readable returns err, or an *Error if err panics when it is asked for its text. A nil pointer
// of an author's own type of error does: it is an error that is not nil.
func Readable(err error) error {
	if err == nil {
		return nil
	}
	if unreadable := Call(func() error { _ = err.Error(); return nil }); unreadable != nil {
		return unreadable
	}

	return err
}

// A ProcessEnd is given to panic by who simulates the end of a process: nothing that runs in
// the process may recover from that.
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
