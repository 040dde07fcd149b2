package systemtest

import (
	"slices"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/test"
)

// guarded says what the deletion guard has read since the last time, which is counted apart
// from what is sent for objects: definitions of the kind alone, and as many as are wanted.
func (b *budget) guarded(name string, want int) {
	b.Helper()

	definitions := slices.DeleteFunc(b.ledger.Objects(), func(r test.Request) bool { return !isGuard(r) })
	b.figure(name+" reads of the definition", float64(len(definitions))/objects)

	if len(definitions) != want*objects {
		b.Errorf("%s: %d reads of the deletion guard, want %d: %s", name, len(definitions), want*objects, test.SummarizeRequests(definitions))
	}

	for _, r := range definitions {
		if r.Resource != "customresourcedefinitions" || r.Name != b.resource+"."+v1alpha1.Group {
			b.Errorf("%s: the deletion guard reads %s %s", name, r.Resource, r.Name)
		}
	}
}

// isGuard tells what the deletion guard reads, for a kind and for a namespace.
func isGuard(r test.Request) bool {
	return r.Verb == "GET" && (r.Resource == "customresourcedefinitions" || r.Resource == "namespaces")
}
