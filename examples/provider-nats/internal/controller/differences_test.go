package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
)

// TestDifferencesOf checks that each difference is reported, and that exactly those that NATS refuses are immutable.
func TestDifferencesOf(t *testing.T) {
	diff := jsconfig.Differences{
		{Path: "maxAge", Desired: `"24h0m0s"`, Observed: `"72h0m0s"`}, {Path: "mirror.name", Desired: `"a"`},
		{Path: "storage", Desired: `"file"`, Observed: `"memory"`}, {Path: "storages", Desired: "1"},
	}
	want := []commonv1.Difference{
		{Path: "maxAge", Desired: `"24h0m0s"`, Observed: `"72h0m0s"`},
		{Path: "mirror.name", Desired: `"a"`, Immutable: true},
		{Path: "storage", Desired: `"file"`, Observed: `"memory"`, Immutable: true},
		{Path: "storages", Desired: "1"},
	}

	got := differencesOf(diff, []jsconfig.Refusal{{Field: "storage"}, {Field: "mirror"}})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want, +got:\n%s", d)
	}

	if got := differencesOf(nil, nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
