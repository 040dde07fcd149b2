// Package errors creates, wraps and examines errors. It is the standard package of that name with the additional
// functions Wrap, Wrapf and Cause. These functions return nil for a nil error, so a function may end in
//
//	return errors.Wrap(c.Update(ctx, o), "cannot update object")
//
// Wrap an error once per level, with a text in lower case that says what could not be done. Branch on an error with
// Is and As, never by its text. All functions may be called concurrently.
package errors

import (
	"errors"
	"fmt"
)

// New returns an error with the supplied text. Every call returns a distinct
// error, even if the texts are equal.
func New(text string) error { return errors.New(text) }

// Errorf returns an error with the formatted text. The verb %w wraps an error
// as fmt.Errorf does.
func Errorf(format string, a ...any) error { return fmt.Errorf(format, a...) }

// Is reports whether any error in err's tree matches target.
func Is(err, target error) bool { return errors.Is(err, target) }

// As finds the first error in err's tree that fits target, a non-nil pointer to
// an interface or to a type that implements error, and sets target to it.
func As(err error, target any) bool { return errors.As(err, target) }

// Unwrap returns the error that err wraps directly, or nil. If err wraps several errors, Unwrap returns nil.
func Unwrap(err error) error { return errors.Unwrap(err) }

// Wrap returns an error whose text is the message, a colon and err's text. It
// returns nil if err is nil.
func Wrap(err error, message string) error {
	if err == nil {
		return nil
	}

	return &wrapped{message: message, err: err}
}

// Wrapf is Wrap with a formatted message. Nothing is formatted if err is nil.
func Wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}

	return Wrap(err, fmt.Sprintf(format, args...))
}

// WithMessage is Wrap under another name, for providers that use that name.
func WithMessage(err error, message string) error { return Wrap(err, message) }

// WithMessagef is Wrapf under another name, for providers that use that name.
func WithMessagef(err error, format string, args ...any) error { return Wrapf(err, format, args...) }

// Cause returns the last error that repeated calls of Unwrap find. It returns err itself if err wraps nothing or
// several errors, and nil if err is nil.
func Cause(err error) error {
	for {
		next := Unwrap(err)
		if next == nil {
			return err
		}

		err = next
	}
}

type wrapped struct {
	message string
	err     error
}

func (w *wrapped) Error() string { return w.message + ": " + w.err.Error() }

func (w *wrapped) Unwrap() error { return w.err }
