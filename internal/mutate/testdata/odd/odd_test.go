package odd

import "testing"

func TestDecide(t *testing.T) {
	if got := Decide(true, false); got != "first, second" {
		t.Errorf("Decide(true, false): got %q", got)
	}
	if got := Decide(false, true); got != "second" {
		t.Errorf("Decide(false, true): got %q", got)
	}
	if got := Plain(); got != "always" {
		t.Errorf("Plain(): got %s", got)
	}
}
