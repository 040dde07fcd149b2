package load

import (
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// TestChildHangs checks that a hung provider fails the run instead of hanging it, both for a command and at the end.
func TestChildHangs(t *testing.T) {
	for _, most := range []time.Duration{time.Millisecond, 100 * time.Millisecond} {
		c, err := launch(t.Context(), "sleep", "3600")
		if err != nil {
			t.Fatal(err)
		}
		c.patient = most
		if _, err := c.send(provider.Command{Do: "read"}); err == nil ||
			!strings.Contains(err.Error(), "has not answered read") {
			t.Errorf("error %v of one that does not answer", err)
		}
		if err := c.end(); err == nil {
			t.Error("who was killed ended well")
		}
	}
	c, err := launch(t.Context(), "sleep", "3600")
	if err != nil {
		t.Fatal(err)
	}
	c.patient = time.Millisecond
	if err := c.end(); err == nil {
		t.Error("one that does not end ended well")
	}
}
