package cli

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
)

// TestDeletionIsBlocked checks that a deletion goes on although the external resource is left alone.
func TestDeletionIsBlocked(t *testing.T) {
	for reason, want := range map[string]bool{
		"ExternalResourceNotOwned": false, "ReconcileError": false, "CreationUnresolved": true,
	} {
		o := stream("orders", set("2026-11-28T11:00:00Z", "metadata", "deletionTimestamp"),
			with("Synced", "False", reason, "a message"))

		if got := state(item{object: object.Of(&unstructured.Unstructured{Object: o})}, forGone, false); got.blocked != want {
			t.Errorf("%s: %+v", reason, got)
		}
	}
}
