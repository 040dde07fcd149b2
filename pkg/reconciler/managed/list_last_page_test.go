package managed

import (
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestAListWhoseLastPageIsSlow verifies that a list with a slow last page is complete, and an interrupted one is
// not.
func TestAListWhoseLastPageIsSlow(t *testing.T) {
	for name, answer := range map[string]error{"shown": nil, "broken off": errors.New("boom")} {
		f := newPolled()
		f.each = func(token string) error {
			if token == "" {
				return nil
			}
			f.clock.SetTime(f.clock.Now().Add(time.Second))

			return answer
		}
		o, ok, err := f.consult(t.Context())
		if ok != (answer == nil) || o.ResourceExists != ok || (asLater(err) == nil) != ok || len(f.asked) != 2 {
			t.Errorf("%s: consulted %+v, %t, %v after the pages %q", name, o, ok, err, f.asked)
		}
		f.asked, f.each = nil, nil
		if _, again, err := f.consult(t.Context()); again || err != nil ||
			len(f.asked) > 0 { // what was shown once is not shown again
			t.Errorf("%s: the next pass: %t, %v after the pages %q", name, again, err, f.asked)
		}
	}
}
