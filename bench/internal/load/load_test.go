package load

import (
	"slices"
	"testing"
	"time"
)

// Each contender is once in each place, and none is measured for a life twice.
func TestTurns(t *testing.T) {
	order := []string{"a", "b", "c"}
	places := map[string][]int{}
	for round := range 3 {
		for place, c := range turned(order, round) {
			places[c] = append(places[c], place)
		}
	}
	for c, of := range places {
		if slices.Sort(of); !slices.Equal(of, []int{0, 1, 2}) {
			t.Errorf("%s is in places %v", c, of)
		}
	}
	if !slices.Equal(order, []string{"a", "b", "c"}) || !slices.Equal(turned(order, 3), order) {
		t.Errorf("the order has become %q", order)
	}
}

func TestDue(t *testing.T) {
	for _, tc := range []struct {
		reason      string
		parts       []string
		first, then []string
	}{
		{"a life is the first sprint", Parts, []string{"life", "named", "storm"}, []string{"sprint"}},
		{"without a life all rounds are alike", []string{"storm", "sprint"}, []string{"storm", "sprint"}, []string{"sprint"}},
		{"what is not repeated is for the first round", []string{"named", "life"}, []string{"life", "named"}, nil},
	} {
		if first, then := due(tc.parts, 0), due(tc.parts, 1); !slices.Equal(first, tc.first) || !slices.Equal(then, tc.then) {
			t.Errorf("%s: %q and then %q", tc.reason, first, then)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, of := range map[time.Duration][]time.Duration{0: nil, 7: {7}, 3: {2, 4}, 5: {9, 5, 1}, 4: {100, 3, 5, 1}} {
		if got := Median(of, func(d time.Duration) time.Duration { return d }); got != want {
			t.Errorf("%d of %v, want %d", got, of, want)
		}
	}
}

func TestWrites(t *testing.T) {
	if n := Writes(map[string]int{"GET buoys": 5, "PATCH buoys": 2, "POST buoys": 1}); n != 3 {
		t.Errorf("%d writes, want three", n)
	}
}
