package limit

import (
	"strconv"
	"testing"
)

// BenchmarkGate measures a call that is let through at once.
func BenchmarkGate(b *testing.B) {
	g := New(WithRate(1e12, 1, 1e12))
	r := Request{Namespace: "default", Object: "a"}
	b.ReportAllocs()
	for b.Loop() {
		release, err := g.Acquire(b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		release(nil)
	}
}

// BenchmarkHeld measures a call that is held, one of ten thousand objects in a hundred
// namespaces.
func BenchmarkHeld(b *testing.B) {
	g := New(WithRate(1e-3, 1e-3, 1), WithMaxWait(0))
	requests := make([]Request, 10_000)
	for i := range requests {
		requests[i] = Request{Namespace: strconv.Itoa(i % 100), Object: strconv.Itoa(i)}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if release, err := g.Acquire(b.Context(), requests[i%len(requests)]); err == nil {
			release(nil)
		}
		i++
	}
}
