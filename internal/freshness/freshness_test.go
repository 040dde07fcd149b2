package freshness

import (
	"testing"
	"time"
)

func TestIsOlder(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		a, b   string
		want   bool
	}{
		"Lower":         {"it was written before", "219", "874", true},
		"FewerDigits":   {"versions are numbers, not texts", "999", "1000", true},
		"Equal":         {"it is the same", "874", "874", false},
		"Higher":        {"it was written since", "874", "219", false},
		"NotRead":       {"there is nothing to compare", "", "219", false},
		"NotWritten":    {"every read is as new as no write", "219", "", false},
		"NotComparable": {"no pass waits for such a version", "rev-1", "rev-9", false},
	} {
		if got := IsOlder(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: IsOlder(%q, %q) is %t, want %t: %s", name, tc.a, tc.b, got, tc.want, tc.reason)
		}
	}
}

func TestRecordIsStale(t *testing.T) {
	if (&Record{}).IsStale("7") {
		t.Error("an object that was not written has a stale read")
	}
	r := &Record{Version: "8"}
	for version, want := range map[string]bool{"": false, "7": true, "8": false, "9": false, "10": false, "x": false} {
		if got := r.IsStale(version); got != want {
			t.Errorf("written 8, read %q: stale %t, want %t", version, got, want)
		}
	}
}

func TestRecordNeedsLiveRead(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := &Record{}
	for i, step := range []struct {
		reason string
		after  time.Duration // since the start
		want   int
	}{
		{"the first", 0, 1},
		{"an event at the same time", 0, 1},
		{"within the delay", RetryDelay - 1, 1},
		{"after the delay", RetryDelay, 2},
		{"within the delay of the second", 3 * RetryDelay / 2, 2},
		{"after the delay", 2 * RetryDelay, 3},
		{"the clock was set back", 0, 4},
	} {
		r.AddStaleRead(start.Add(step.after))
		if r.staleReads != step.want || r.NeedsLiveRead() != (step.want >= 3) {
			t.Errorf("step %d: %d stale reads, want %d: %s", i, r.staleReads, step.want, step.reason)
		}
	}
	r.ResetStaleReads()
	if r.NeedsLiveRead() {
		t.Error("a read that was not stale does not reset the number of those that were")
	}
	if r.AddStaleRead(start); r.staleReads != 1 {
		t.Errorf("%d stale reads after the reset, want 1", r.staleReads)
	}
}

func TestSilentRequeue(t *testing.T) {
	result := SilentRequeue()
	if !result.Requeue || result.RequeueAfter != 0 { //nolint:staticcheck // see SilentRequeue
		t.Errorf("got %+v, want a requeue with backoff", result)
	}
}
