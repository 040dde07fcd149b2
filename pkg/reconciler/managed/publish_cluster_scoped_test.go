package managed

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/external"
)

// TestAnObjectOfTheClusterHasNoSecret verifies that a cluster-scoped object has no namespace for its Secret, which
// is reported.
func TestAnObjectOfTheClusterHasNoSecret(t *testing.T) {
	changed, err := secrets{}.PublishConnection(t.Context(), bearing(nil), ConnectionDetails{"token": []byte("t")})
	if reason, _ := external.TerminalReason(err); changed || reason != "ConnectionSecretNotOwned" {
		t.Errorf("changed %t, error %v for %q", changed, err, reason)
	}
}
