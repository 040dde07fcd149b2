package cli

import (
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
)

// TestRow: a condition that was never set is shown as "-", not as Unknown.
func TestRow(t *testing.T) {
	f := &v1.File{}
	f.Name, f.Status.Size = "motd", 7
	f.SetConditions(commonv1.ReconcileSuccess())
	if got, want := row(f), "motd\t-\tTrue(ReconcileSuccess)\t7"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
