package serviceprovider

import (
	"testing"
	"time"
)

// TestJitter verifies that polls are spread over a tenth of their interval.
func TestJitter(t *testing.T) {
	for random, want := range map[float64]time.Duration{
		0: 10 * time.Second, 0.5: 10500 * time.Millisecond, 1: 11 * time.Second,
	} {
		r := &APIReconciler[*Foo, *FooConfig]{random: func() float64 { return random }}
		if got := r.jitter(10 * time.Second); got != want {
			t.Errorf("with %g it is %s, want %s", random, got, want)
		}
	}
}

// TestIsNil verifies that a typed nil is nil.
func TestIsNil(t *testing.T) {
	var (
		pointer  *Foo
		table    map[string]int
		list     []int
		function func()
		channel  chan int
	)
	for what, v := range map[string]any{
		"nothing": nil, "pointer": pointer, "map": table, "slice": list, "function": function, "channel": channel,
	} {
		if !isNil(v) {
			t.Errorf("%s: nil is not seen", what)
		}
	}
	for what, v := range map[string]any{
		"pointer": &Foo{}, "map": map[string]int{}, "slice": []int{}, "function": func() {}, "channel": make(
			chan int), "number": 0, "text": "", "struct": Foo{},
	} {
		if isNil(v) {
			t.Errorf("%s: it is taken for nil", what)
		}
	}
}
