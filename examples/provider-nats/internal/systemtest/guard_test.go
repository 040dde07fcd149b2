package systemtest

import (
	"slices"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/test"
)

// guarded checks the reads of the deletion guard since the last call, which are counted separately from
// requests for objects: only CRDs, and as many as wanted.
func (b *budget) guarded(name string, want int) {
	b.Helper()

	definitions := slices.DeleteFunc(b.ledger.Objects(), func(r test.Request) bool { return !isGuard(r) })
	b.figure(name+" reads of the definition", float64(len(definitions))/objects)

	if len(definitions) != want*objects {
		b.Errorf("%s: %d reads of the deletion guard, want %d: %s", name, len(definitions), want*objects,
			test.SummarizeRequests(definitions))
	}

	for _, r := range definitions {
		if r.Resource != "customresourcedefinitions" || r.Name != b.resource+"."+v1alpha1.Group {
			b.Errorf("%s: the deletion guard reads %s %s", name, r.Resource, r.Name)
		}
	}
}

// isGuard reports whether a request is a read of the deletion guard, of a CRD or of a namespace.
func isGuard(r test.Request) bool {
	return r.Verb == "GET" && (r.Resource == "customresourcedefinitions" || r.Resource == "namespaces")
}
