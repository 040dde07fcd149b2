package apart

import "testing"

func TestGone(t *testing.T) {
	if got := Decide(true, false); got != "forget" {
		t.Errorf("gone: got %s", got)
	}
}
