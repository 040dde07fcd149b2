package v1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// TestDriftStatus checks the JSON of the record, and that a status without a difference has none.
func TestDriftStatus(t *testing.T) {
	type status struct {
		commonv1.DriftStatus `json:",inline"`
	}
	var s status
	if got := asJSON(t, s); got != `{}` || s.GetDrift() != nil {
		t.Errorf("no differences: %s, %v", got, s.GetDrift())
	}
	drift := &commonv1.Drift{
		Fields: []commonv1.Difference{
			{Path: "maxAge", Desired: `"24h0m0s"`, Observed: `"72h0m0s"`},
			{Path: "password", Immutable: true, Sensitive: true},
		},
		More: 3,
	}
	s.SetDrift(drift)
	want := `{"drift":{"fields":[{"path":"maxAge","desired":"\"24h0m0s\"","observed":"\"72h0m0s\""},` +
		`{"path":"password","immutable":true,"sensitive":true}],"more":3}}`
	if diff := cmp.Diff(want, asJSON(t, s)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	changed := s.DeepCopy()
	changed.Drift.Fields[0].Path = "other"
	if s.GetDrift() != drift || drift.Fields[0].Path != "maxAge" {
		t.Error("a copy shares the differences")
	}
	s.SetDrift(nil)
	if got := asJSON(t, s); got != `{}` {
		t.Errorf("after the record was removed: %s", got)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
