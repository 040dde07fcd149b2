package external

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/errors"
)

func TestSharedCause(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   string
		ok     bool
	}{
		"None":     {"no error has no cause", nil, "", false},
		"Unmarked": {"an unmarked error is about one object", errBoom, "", false},
		"Other":    {"so is what has other marks", Terminal("TooBig", NotCreated(errBoom)), "", false},
		"Unavailable": {"what one object asked for is left out",
			errors.Wrap(Unavailable(errBoom), "cannot look at a"), "boom", true},
		"Unauthorized": {"the same for credentials", errors.Wrap(Unauthorized(errBoom), "cannot look at b"), "boom",
			true},
		"Throttled": {"and quotas", errors.Wrap(Throttled("", 0, errBoom), "cannot look at c"), "boom", true},
		"Inside": {"what was wrapped before belongs to it",
			Unavailable(errors.Wrap(errBoom, "cannot reach it")), "cannot reach it: boom", true},
		"Both": {"credentials are what somebody can correct",
			Unavailable(errors.Wrap(Unauthorized(errBoom), "cannot log in")), "boom", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, ok := SharedCause(tc.err); got != tc.want || ok != tc.ok {
				t.Errorf("%s: SharedCause(...) = %q, %t, want %q, %t", tc.reason, got, ok, tc.want, tc.ok)
			}
		})
	}
}
