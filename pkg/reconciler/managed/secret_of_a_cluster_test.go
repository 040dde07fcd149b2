package managed

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/external"
)

// An object without a namespace has none for its Secret. That is told, and nothing is asked.
func TestAnObjectOfTheClusterHasNoSecret(t *testing.T) {
	changed, err := secrets{}.PublishConnection(t.Context(), bearing(nil), ConnectionDetails{"token": []byte("t")})
	if reason, _ := external.TerminalReason(err); changed || reason != "ConnectionSecretNotOwned" {
		t.Errorf("changed %t, error %v for %q", changed, err, reason)
	}
}
