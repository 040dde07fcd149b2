package sim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/sim"
)

// A reference is work that stays the same while the library changes. The processor time of TestSim is given in pieces
// of it, which are the same on a fast machine and on a slow one. It runs now and then during TestSim, so that other
// load slows both.
type reference struct {
	mu     sync.Mutex
	next   time.Time
	pieces int
	took   time.Duration // of the processor, for all of them
}

// now does a few pieces, at most once a second. It is right only where the work that it is
// compared with is done by other processes.
func (r *reference) now(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.next) {
		return
	}
	began := sim.ProcessorTime(t)
	for range 10 {
		piece(t)
	}
	r.took += sim.ProcessorTime(t) - began
	r.pieces += 10
	r.next = time.Now().Add(time.Second)
}

// in returns how many pieces could have been done in some processor time.
func (r *reference) in(spent time.Duration) float64 {
	return float64(spent) * float64(r.pieces) / float64(r.took)
}

// piece is work like that of the simulator: small objects, maps, sorting and JSON.
func piece(t *testing.T) {
	t.Helper()
	type object struct {
		Name   string
		Labels map[string]string
		Values []int
	}
	for i := range 20 {
		before := object{Name: fmt.Sprint(i), Labels: map[string]string{}}
		for n := range 20 {
			before.Labels[fmt.Sprintf("label-%d", (n*7)%20)] = fmt.Sprint(n)
			before.Values = append(before.Values, (n*7919)%101)
		}
		slices.Sort(before.Values)
		text, err := json.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		after := object{}
		if err := json.Unmarshal(text, &after); err != nil || !maps.Equal(before.Labels, after.Labels) {
			t.Fatalf("%s became %v: %v", text, after, err)
		}
	}
}

// TestReference checks that a run with twice the time has twice as many pieces.
func TestReference(t *testing.T) {
	r := &reference{}
	r.now(t)
	r.next = time.Now().Add(time.Hour) // however long this machine stands still
	r.now(t)                           // too early
	if r.pieces != 10 || r.took <= 0 {
		t.Fatalf("%d pieces took %s of the processor", r.pieces, r.took)
	}
	if once, twice := r.in(r.took), r.in(2*r.took); once != 10 || twice != 20 {
		t.Errorf("in the time of 10 pieces %g could be done, and in twice that time %g", once, twice)
	}
}
