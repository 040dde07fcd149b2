package trials

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestD13TextsThatChange checks an object that fails for hours, each time with another text,
// such as the name of an operation. Status and reason stay, so that the number of writes and
// events an hour is bounded.
func TestD13TextsThatChange(t *testing.T) {
	for name, text := range map[string]func(r *rand.Rand) string{
		"the name of an operation": func(r *rand.Rand) string {
			letters := make([]byte, 5)
			for i := range letters {
				letters[i] = byte('a' + r.IntN(26))
			}

			return fmt.Sprintf("operation op-%s failed", letters)
		},
		"the address of a balanced backend": func(r *rand.Rand) string {
			return fmt.Sprintf("dial tcp 52.%d.%d.%d:443: connection refused", r.IntN(256), r.IntN(256), r.IntN(256))
		},
		"how much is used": func(r *rand.Rand) string {
			return fmt.Sprintf("quota exceeded: used %d of 100",
				101+r.IntN(1000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, opaque, func(w *world) {
				random := rand.New(rand.NewPCG(1, 2))
				w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
					if call == "Observe" {
						return fmt.Errorf("%s", text(random))
					}

					return nil
				}
				w.create()
				w.run(time.Hour)
				w.writes, w.events = nil, nil
				passes := w.run(time.Hour)
				if n := len(w.writes); n > 10 {
					w.Errorf("%d writes in the second hour of %d passes that all failed for one reason", n, passes)
				}
				if n := w.warnings(); n > 10 {
					w.Errorf("%d events in the second hour of %d passes that all failed for one reason", n, passes)
				}
			})
		})
	}
}
