package odd

import "testing"

func TestDecide(t *testing.T) {
	if got := Decide("abc"); got != "first" {
		t.Errorf("Decide(abc): got %s", got)
	}
	if got := Plain(); got != "always" {
		t.Errorf("Plain(): got %s", got)
	}
}
