package external

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/errors"
)

var errBoom = errors.New("boom")

// marks is everything that this package finds in an error.
type marks struct {
	AlreadyExists bool
	NotCreated    bool
	Terminal      bool
	Reason        string
}

func read(err error) marks {
	reason, ok := TerminalReason(err)

	return marks{
		AlreadyExists: IsAlreadyExists(err),
		NotCreated:    IsNotCreated(err),
		Terminal:      ok,
		Reason:        reason,
	}
}

func TestMarks(t *testing.T) {
	taken := kerrors.NewAlreadyExists(schema.GroupResource{Resource: "streams"}, "orders")

	cases := map[string]struct {
		reason string
		err    error
		want   marks
	}{
		"None":     {reason: "No error has no mark.", err: nil, want: marks{}},
		"Unmarked": {reason: "An unmarked error has none.", err: errBoom, want: marks{}},
		"Kubernetes": {
			reason: "A Kubernetes server's own answer counts.", err: taken,
			want: marks{AlreadyExists: true},
		},
		"KubernetesWrapped": {
			reason: "Wrapped too.",
			err:    errors.Wrap(taken, "cannot create"),
			want:   marks{AlreadyExists: true},
		},
		"KubernetesOther": {
			reason: "Another answer of a Kubernetes server is none of ours.",
			err:    kerrors.NewNotFound(schema.GroupResource{Resource: "streams"}, "orders"),
			want:   marks{},
		},
		"AlreadyExists": {reason: "Marked directly.", err: AlreadyExists(errBoom), want: marks{AlreadyExists: true}},
		"AlreadyExistsWrapped": {
			reason: "Found through other errors.",
			err:    errors.Errorf("cannot x: %w", errors.Wrap(AlreadyExists(errBoom), "cannot y")),
			want:   marks{AlreadyExists: true},
		},
		"NotCreated": {reason: "Marked directly.", err: NotCreated(errBoom), want: marks{NotCreated: true}},
		"NotCreatedWrapped": {
			reason: "Found through other errors.",
			err:    errors.Wrap(NotCreated(errBoom), "cannot create"),
			want:   marks{NotCreated: true},
		},
		"Terminal": {
			reason: "Marked directly.", err: Terminal("TooBig", errBoom),
			want: marks{Terminal: true, Reason: "TooBig"},
		},
		"TerminalWrapped": {
			reason: "Found through other errors.",
			err:    errors.Wrap(Terminal("TooBig", errBoom), "cannot create"),
			want:   marks{Terminal: true, Reason: "TooBig"},
		},
		"TerminalTwice": {
			reason: "Whoever marked last knew most.",
			err:    Terminal("Outer", errors.Wrap(Terminal("Inner", errBoom), "x")),
			want:   marks{Terminal: true, Reason: "Outer"},
		},
		"Both": {
			reason: "Marks do not exclude each other.",
			err:    NotCreated(errors.Wrap(Terminal("TooBig", errBoom), "x")),
			want:   marks{NotCreated: true, Terminal: true, Reason: "TooBig"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, read(tc.err)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReason(t *testing.T) {
	longest := strings.Repeat("A", maxReasonLength)

	cases := map[string]struct {
		reason string
		in     string
		want   string
	}{
		"Word":       {reason: "A word is kept.", in: "SubjectsOverlap", want: "SubjectsOverlap"},
		"Letter":     {reason: "One letter is a word.", in: "A", want: "A"},
		"Separators": {reason: "The pattern has them inside.", in: "A,b:c_d_", want: "A,b:c_d_"},
		"Longest":    {reason: "The limit itself is allowed.", in: longest, want: longest},
		"TooLong":    {reason: "The server would refuse it.", in: longest + "A", want: ReasonTerminalError},
		"Empty":      {reason: "A condition must have one.", in: "", want: ReasonTerminalError},
		"Sentence":   {reason: "A space is not in the pattern.", in: "too big", want: ReasonTerminalError},
		"Digit":      {reason: "It starts with a letter.", in: "404", want: ReasonTerminalError},
		"Colon":      {reason: "It does not end in a separator.", in: "Code:", want: ReasonTerminalError},
		"Lines":      {reason: "The whole text must match, not a line.", in: "TooBig\nx", want: ReasonTerminalError},
		"Newline":    {reason: "A final newline is not in the pattern.", in: "TooBig\n", want: ReasonTerminalError},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := TerminalReason(Terminal(tc.in, errBoom))
			if !ok {
				t.Fatalf("%s\nTerminalReason(...): want a reason, got none", tc.reason)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMarkersKeepTheError(t *testing.T) {
	cases := map[string]struct {
		reason string
		mark   func(error) error
	}{
		"AlreadyExists": {reason: "AlreadyExists", mark: AlreadyExists},
		"NotCreated":    {reason: "NotCreated", mark: NotCreated},
		"Terminal":      {reason: "Terminal", mark: func(err error) error { return Terminal("TooBig", err) }},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.mark(nil); got != nil {
				t.Errorf("%s(nil): want nil, got %v", tc.reason, got)
			}

			in := errors.Wrap(context.Canceled, "cannot reach it")
			got := tc.mark(in)

			if diff := cmp.Diff(in.Error(), got.Error()); diff != "" {
				t.Errorf("%s changes the text\n-want, +got:\n%s", tc.reason, diff)
			}

			//nolint:errorlint // It is the error itself that must come back.
			if unwrapped := errors.Unwrap(got); unwrapped != in {
				t.Errorf("%s: want Unwrap to return the marked error, got %v", tc.reason, unwrapped)
			}

			if !errors.Is(got, context.Canceled) {
				t.Errorf("%s hides what the marked error wraps", tc.reason)
			}
		})
	}
}
