package load

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestTurns checks that each contender has each place once, and that none is measured twice in a life.
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
		{"what is compared with the floor is repeated", Parts, Parts, []string{"life", "storm"}},
		{"the order is that of the parts", []string{"storm", "life"}, []string{"life", "storm"}, []string{"life", "storm"}},
		{"what is not repeated is for the first round", []string{"events", "named"}, []string{"named", "events"}, nil},
	} {
		if first, then := due(tc.parts, 0), due(tc.parts, 1); !slices.Equal(first, tc.first) || !slices.Equal(then, tc.then) {
			t.Errorf("%s: %q and then %q", tc.reason, first, then)
		}
	}
}

// TestConclude checks that one bad round does not decide a compared figure, and that a bound holds in every round.
func TestConclude(t *testing.T) {
	r := Result{Rounds: []Round{
		{Measured: Measured{ReadyAfter: 3, UserP99: 5, CreateRequests: 3, RestartUser: 2},
			QuietCPUs: []time.Duration{70, 8, 80}},
		{Measured: Measured{ReadyAfter: 90, UserP99: 6, CreateRequests: 3.1, RestartUser: 1},
			QuietCPUs: []time.Duration{7, 6, 90}},
		{Measured: Measured{ReadyAfter: 4, UserP99: 80, CreateRequests: 3, RestartUser: 9},
			QuietCPUs: []time.Duration{60, 5, 7}},
	}}
	r.conclude()
	if want := (Measured{ReadyAfter: 4, UserP99: 6, CreateRequests: 3.1, RestartUser: 9,
		QuietCPU: 8}); r.Measured != want {
		t.Errorf("of the rounds remains %+v, want %+v", r.Measured, want)
	}
}

// TestConcludeAllFigures checks that every figure of a round is in the result.
func TestConcludeAllFigures(t *testing.T) {
	var one Round
	of := reflect.ValueOf(&one.Measured).Elem()
	for i := range of.NumField() {
		switch f := of.Field(i); f.Kind() {
		case reflect.Int64:
			f.SetInt(int64(i + 1))
		default:
			f.SetFloat(float64(i + 1))
		}
	}
	one.QuietCPUs = []time.Duration{one.QuietCPU}
	r := Result{Rounds: []Round{one}}
	r.conclude()
	if r.Measured != one.Measured {
		t.Errorf("of %+v remains %+v", one.Measured, r.Measured)
	}
}

func TestNote(t *testing.T) {
	r := Result{Requests: map[string]map[string]int{}}
	r.note("create", map[string]int{"PATCH widgets": 10, "GET widgets": 1})
	r.note("create", map[string]int{"PATCH widgets": 9, "GET widgets": 2})
	r.note("steady", nil)
	if want := map[string]int{"PATCH widgets": 10, "GET widgets": 2}; !maps.Equal(r.Requests["create"], want) ||
		r.Requests["steady"] == nil {
		t.Errorf("requests %v, want the most of each, and none where none were counted", r.Requests)
	}
}

// TestLatencies checks that a change overtaken by another one of the same object counts until the later one is
// applied.
func TestLatencies(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1000+int64(seconds), 0) }
	asked := []change{{object: 1, size: 11, at: at(0)}, {object: 2, size: 12, at: at(1)}, {object: 1, size: 13, at: at(2)},
		{object: 3, size: 14, at: at(3)}}
	for reason, tc := range map[string]struct {
		served map[int64]time.Time
		want   []time.Duration
	}{
		"each is served": {map[int64]time.Time{11: at(1), 12: at(3), 13: at(7), 14: at(4)},
			[]time.Duration{1, 1, 2, 5}},
		"overtaken, so it takes longer": {map[int64]time.Time{12: at(3), 13: at(7), 14: at(4)}, []time.Duration{1, 2, 5, 7}},
		"pending changes are left out":  {map[int64]time.Time{11: at(1), 12: at(3)}, []time.Duration{1, 2}},
		"none is applied":               {nil, nil},
	} {
		got := latencies(asked, tc.served)
		for i := range tc.want {
			tc.want[i] *= time.Second
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", reason, got, tc.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	var of []time.Duration
	for i := range 150 {
		of = append(of, time.Duration(i+1))
	}
	if p50, p99 := percentile(of, 50), percentile(of, 99); p50 != 76 || p99 != 149 || percentile(nil, 99) != 0 {
		t.Errorf("p50 %d and p99 %d of 150, want the 76th and the last but one", p50, p99)
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
	if n := Writes(map[string]int{"GET widgets": 5, "PATCH widgets": 2, "POST widgets": 1}); n != 3 {
		t.Errorf("%d writes, want three", n)
	}
}
