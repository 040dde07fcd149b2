package gappy

import "testing"

func TestDecide(t *testing.T) {
	if got := Decide(true, false, false); got != "forget" {
		t.Errorf("gone: got %s", got)
	}
	if got := Decide(false, true, false); got != "wait" {
		t.Errorf("paused: got %s", got)
	}
}
