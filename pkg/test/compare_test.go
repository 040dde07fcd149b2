package test

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

type otherError struct{}

func (otherError) Error() string { return "boom" }

func TestEquateErrors(t *testing.T) {
	type result struct{ Err error }

	cases := map[string]struct {
		reason string
		a, b   error
		want   bool
	}{
		"Nil":    {reason: "No error equals no error.", want: true},
		"OneNil": {reason: "No error differs from one.", a: errBoom},
		"Same":   {reason: "An error equals itself.", a: errBoom, b: errBoom, want: true},
		"Wrapped": {reason: "What is wrapped counts, in either direction.", a: errors.Wrap(errBoom, "x"), b: errBoom,
			want: true},
		"SameText": {reason: "An error made in place equals one of its text.", a: errors.New("boom"), b: errBoom,
			want: true},
		"WrappedText": {reason: "A wrapped one too.", a: errors.Wrap(errors.New("a"), "b"),
			b: errors.Wrap(errors.New("a"), "b"), want: true},
		"OtherText": {reason: "Another text differs.", a: errors.New("bang"), b: errBoom},
		"OtherType": {reason: "Another type differs, whatever it says.", a: otherError{}, b: errBoom},
		"Is": {reason: "A type can say what it equals.", a: &fs.PathError{Err: fs.ErrNotExist}, b: fs.ErrNotExist,
			want: true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, pair := range [][2]error{{tc.a, tc.b}, {tc.b, tc.a}} {
				if got := cmp.Equal(pair[0], pair[1], EquateErrors()); got != tc.want {
					t.Errorf("%s\nEqual(%v, %v) = %t, want %t", tc.reason, pair[0], pair[1], got, tc.want)
				}

				if got := cmp.Equal(result{pair[0]}, result{pair[1]}, EquateErrors()); got != tc.want {
					t.Errorf("%s\nIn a struct, Equal(%v, %v) = %t, want %t", tc.reason, pair[0], pair[1], got, tc.want)
				}
			}
		})
	}
}

func TestEquateConditions(t *testing.T) {
	base := commonv1.Condition{
		Type: commonv1.TypeReady, Status: metav1.ConditionTrue, Reason: commonv1.ReasonAvailable, Message: "m",
		LastTransitionTime: metav1.Unix(1, 0), ObservedGeneration: 1,
	}

	cases := map[string]struct {
		reason string
		change func(c *commonv1.Condition)
		want   bool
	}{
		"Time": {reason: "Times do not count.",
			change: func(c *commonv1.Condition) { c.LastTransitionTime = metav1.Unix(2, 0) }, want: true},
		"Generation": {reason: "Generations do not count.",
			change: func(c *commonv1.Condition) { c.ObservedGeneration = 2 },
			want:   true},
		"Type": {reason: "The type counts.", change: func(c *commonv1.Condition) { c.Type = commonv1.TypeSynced }},
		"Status": {
			reason: "The status counts.",
			change: func(c *commonv1.Condition) { c.Status = metav1.ConditionFalse },
		},
		"Reason": {
			reason: "The reason counts.",
			change: func(c *commonv1.Condition) { c.Reason = commonv1.ReasonCreating },
		},
		"Message": {reason: "The message counts.", change: func(c *commonv1.Condition) { c.Message = "n" }},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := base
			tc.change(&other)

			if got := cmp.Equal([]commonv1.Condition{base}, []commonv1.Condition{other},
				EquateConditions()); got != tc.want {
				t.Errorf("%s\nEqual(...) = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
