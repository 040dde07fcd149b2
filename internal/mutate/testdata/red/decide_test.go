package red

import "testing"

func TestDecide(t *testing.T) {
	if got := Decide(true); got != "remember" {
		t.Errorf("gone: got %s", got)
	}
}
