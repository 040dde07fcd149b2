package cluster

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestMissing checks that only an answer about the object counts.
func TestMissing(t *testing.T) {
	named := apierrors.NewNotFound(schema.GroupResource{Resource: "streams"}, "orders")

	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"Named":   {named, true},
		"Wrapped": {fmt.Errorf("cannot get it: %w", named), true},
		"Other":   {apierrors.NewNotFound(schema.GroupResource{Resource: "streams"}, "other"), false},
		"Proxy": {
			apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Resource: "streams"}, "orders", "page", 0, true),
			false,
		},
		"Conflict": {apierrors.NewConflict(schema.GroupResource{}, "orders", nil), false},
		"NoStatus": {errors.New("not found"), false},
		"None":     {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Missing(tc.err, "orders"); got != tc.want {
				t.Errorf("Missing(%v) is %t", tc.err, got)
			}
		})
	}
}
