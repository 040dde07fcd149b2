package resource_test

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

func TestReferenceStatus(t *testing.T) {
	cases := map[string]struct {
		reason string
		status resource.ReferenceStatus
		want   string
	}{
		"Zero": {reason: "Of nothing nothing is known.", want: "{reference: status:Unknown}"},
		"Unknown": {reason: "It has a name.",
			status: resource.ReferenceStatus{Name: "data", Status: resource.ReferenceStatusUnknown},
			want:   "{reference:data status:Unknown}"},
		"NotFound": {reason: "It has a name.",
			status: resource.ReferenceStatus{Name: "data", Status: resource.ReferenceNotFound},
			want:   "{reference:data status:NotFound}"},
		"NotReady": {reason: "It has a name.",
			status: resource.ReferenceStatus{Name: "data", Status: resource.ReferenceNotReady},
			want:   "{reference:data status:NotReady}"},
		"Ready": {reason: "It has a name.",
			status: resource.ReferenceStatus{Name: "data", Status: resource.ReferenceReady},
			want:   "{reference:data status:Ready}"},
		"TooHigh": {reason: "A number that nobody knows is no reason to panic.",
			status: resource.ReferenceStatus{Name: "data", Status: 4}, want: "{reference:data status:Unknown}"},
		"Negative": {reason: "A number that nobody knows is no reason to panic.",
			status: resource.ReferenceStatus{Name: "data", Status: -1}, want: "{reference:data status:Unknown}"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.status.String(); got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// missing is an error of a resolver, with the method MissingReference.
type missing bool

func (missing) Error() string            { return "stream is missing" }
func (m missing) MissingReference() bool { return bool(m) }

func TestIsMissingReference(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"None":    {reason: "No error misses nothing."},
		"Other":   {reason: "Another error does not say so.", err: errors.New("boom")},
		"Missing": {reason: "It says so.", err: missing(true), want: true},
		"Wrapped": {reason: "What is wrapped counts.", err: errors.Wrap(missing(true), "cannot resolve"), want: true},
		"Not":     {reason: "It says that it is not.", err: missing(false)},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := resource.IsMissingReference(tc.err); got != tc.want {
				t.Errorf("%s\nIsMissingReference(...) = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
