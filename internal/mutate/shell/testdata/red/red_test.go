package red

import "testing"

func TestYes(t *testing.T) {
	if Yes() {
		t.Error("it is red")
	}
}
