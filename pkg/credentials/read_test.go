package credentials

import (
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
)

func TestReadError(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	cases := map[string]struct {
		reason          string
		err             error
		missing, unsure bool
	}{
		"Nil":  {reason: "it was read"},
		"Gone": {reason: "the answer is about it", err: kerrors.NewNotFound(secrets, "login"), missing: true},
		"Wrapped": {
			reason: "whatever is said before it", err: errors.Wrap(kerrors.NewNotFound(secrets, "login"), "cannot read"),
			missing: true,
		},
		"Other": {
			reason: "the answer is about something else",
			err:    kerrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), unsure: true,
		},
		"Proxy": {
			reason: "a page of a proxy is about nothing",
			err:    kerrors.NewGenericServerResponse(404, "get", secrets, "login", "", 0, true), unsure: true,
		},
		"Forbidden": {reason: "somebody has taken the permission away", err: kerrors.NewForbidden(secrets, "login", nil)},
		"Timeout":   {reason: "nobody knows", err: kerrors.NewTimeoutError("later", 1), unsure: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := ReadError(tc.err, "login")
			if got := connection.IsMissing(err); got != tc.missing {
				t.Errorf("%s: IsMissing = %t, want %t", tc.reason, got, tc.missing)
			}
			if got := connection.IsUnsure(err); got != tc.unsure {
				t.Errorf("%s: IsUnsure = %t, want %t", tc.reason, got, tc.unsure)
			}
			if !errors.Is(err, tc.err) {
				t.Errorf("%s: %v, want what was given", tc.reason, err)
			}
		})
	}
}
