package nested

import "testing"

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		a, b bool
		want string
	}{{true, true, "both"}, {true, false, "a"}, {false, true, "b"}, {false, false, "none"}} {
		if got := Decide(c.a, c.b); got != c.want {
			t.Errorf("Decide(%t, %t): want %s, got %s", c.a, c.b, c.want, got)
		}
	}
}
