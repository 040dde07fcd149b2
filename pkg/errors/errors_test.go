package errors_test

import (
	stderrors "errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
)

type codeError struct{ code int }

func (e *codeError) Error() string { return fmt.Sprintf("code %d", e.code) }

func TestWrap(t *testing.T) {
	boom := errors.New("boom")

	cases := map[string]struct {
		reason string
		wrap   func(err error) error
		want   string
	}{
		"Wrap": {
			reason: "The message comes first.",
			wrap:   func(err error) error { return errors.Wrap(err, "cannot attach") },
			want:   "cannot attach: boom",
		},
		"Wrapf": {
			reason: "The message is formatted.",
			wrap:   func(err error) error { return errors.Wrapf(err, "cannot attach %q", "a%b") },
			want:   `cannot attach "a%b": boom`,
		},
		"WithMessage": {
			reason: "A percent sign in a plain message is no verb.",
			wrap:   func(err error) error { return errors.WithMessage(err, "100%s sure") },
			want:   "100%s sure: boom",
		},
		"WithMessagef": {
			reason: "The message is formatted.",
			wrap:   func(err error) error { return errors.WithMessagef(err, "try %d", 2) },
			want:   "try 2: boom",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.wrap(boom)
			if diff := cmp.Diff(tc.want, got.Error()); diff != "" {
				t.Errorf("%s\n-want text, +got text:\n%s", tc.reason, diff)
			}

			if !errors.Is(got, boom) {
				t.Errorf("%s\nThe wrapped error is not found.", tc.reason)
			}

			if errors.Unwrap(got) != boom { //nolint:errorlint // The very error must come back.
				t.Errorf("%s\nUnwrap(...) = %v, want %v", tc.reason, errors.Unwrap(got), boom)
			}

			if got := tc.wrap(nil); got != nil {
				t.Errorf("Wrapping nil gave %v, want nil", got)
			}
		})
	}
}

func TestAs(t *testing.T) {
	err := errors.Wrap(&codeError{code: 42}, "cannot ask")

	var ce *codeError
	if !errors.As(err, &ce) || ce.code != 42 {
		t.Errorf("As(...) found %v, want code 42", ce)
	}

	if errors.As(errors.New("other"), &ce) {
		t.Error("As(...) found a code in an error that has none")
	}
}

func TestCause(t *testing.T) {
	boom := errors.New("boom")
	joined := stderrors.Join(boom, errors.New("bang"))

	cases := map[string]struct {
		reason string
		err    error
		want   error
	}{
		"Nil":     {reason: "Nothing has no cause.", err: nil, want: nil},
		"Bare":    {reason: "An error that wraps nothing is its own cause.", err: boom, want: boom},
		"Wrapped": {reason: "The bottom of the chain counts.", err: errors.Wrap(errors.Wrap(boom, "a"), "b"), want: boom},
		"Errorf":  {reason: "A standard wrap is followed too.", err: errors.Errorf("a: %w", boom), want: boom},
		"Joined":  {reason: "Several errors have no single cause.", err: errors.Wrap(joined, "a"), want: joined},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := errors.Cause(tc.err); got != tc.want { //nolint:errorlint // The very error must come back.
				t.Errorf("%s\nCause(...) = %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNewIsDistinct(t *testing.T) {
	if errors.Is(errors.New("same"), errors.New("same")) {
		t.Error("Two errors of the same text must stay distinct")
	}
}
