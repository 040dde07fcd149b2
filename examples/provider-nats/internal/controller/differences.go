package controller

import (
	"slices"
	"strings"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
)

// differencesOf returns the differences for the status of the object. A field that NATS refuses to change is immutable,
// with all that is in it.
func differencesOf(diff jsconfig.Differences, refused []jsconfig.Refusal) []commonv1.Difference {
	var out []commonv1.Difference

	for _, d := range diff {
		within := func(r jsconfig.Refusal) bool { return d.Path == r.Field || strings.HasPrefix(d.Path, r.Field+".") }
		out = append(out, commonv1.Difference{
			Path: d.Path, Desired: d.Desired, Observed: d.Observed, Immutable: slices.ContainsFunc(refused, within),
		})
	}

	return out
}
