package sound

import "testing"

func TestDecide(t *testing.T) {
	for f, want := range map[Facts]string{
		{}:                            "nothing",
		{Changed: true}:               "update twice",
		{Paused: true, Changed: true}: "wait",
		{Gone: true, Paused: true}:    "forget",
	} {
		if got := Decide(f); got != want {
			t.Errorf("Decide(%+v): got %s, want %s", f, got, want)
		}
	}
	if got := update(1); got != "update" {
		t.Errorf("update(1): got %s", got)
	}
}
