package changelog

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// TestJSONOfAnEntry verifies the names of the fields, that fields without a value are absent, and that the JSON has the
// whole entry.
func TestJSONOfAnEntry(t *testing.T) {
	for _, tc := range []struct {
		entry Entry
		want  string
	}{
		{
			Entry{
				Name: "a", Operation: OperationUpdate, Generation: 3, Cause: CauseDrift,
				Differences: []commonv1.Difference{{Path: "maxAge", Desired: "1", Observed: "2"}},
			},
			`{"time":"0001-01-01T00:00:00Z","object":{"name":"a"},"operation":"Update","generation":3,"cause":"drift",` +
				`"differences":[{"path":"maxAge","desired":"1","observed":"2"}]}` + "\n",
		},
		{
			Entry{Name: "a", Operation: OperationDelete},
			`{"time":"0001-01-01T00:00:00Z","object":{"name":"a"},"operation":"Delete"}` + "\n",
		},
	} {
		line, err := encodeLine(tc.entry)
		if err != nil || string(line) != tc.want {
			t.Errorf("%v: %s, want %s", err, line, tc.want)
		}
		var got Entry
		if err := json.Unmarshal(line, &got); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tc.entry, got); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	}
}

// TestDifferencesOfAnEntry verifies that a line has at most 64 differences, and no value that is a secret, also if the
// differences were not cleaned before.
func TestDifferencesOfAnEntry(t *testing.T) {
	e := Entry{Name: "a", Operation: OperationUpdate, Differences: []commonv1.Difference{
		{Path: "declared", Desired: "canary-1", Observed: "canary-2", Sensitive: true},
		{Path: "login.password", Desired: "canary-3"},
		{Path: "address", Observed: "nats://admin:canary-4@example.org"},
	}}
	for i := range 100 {
		e.Differences = append(e.Differences, commonv1.Difference{Path: fmt.Sprintf("many[%d]", i)})
	}
	line, err := encodeLine(e)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(line), "canary") ||
		!strings.Contains(string(line), `{"path":"login.password","sensitive":true}`) {
		t.Errorf("line: %s", line)
	}
	if n := strings.Count(string(line), `"path"`); n != 64 {
		t.Errorf("%d differences, want 64", n)
	}
	if e.Differences[0].Desired != "canary-1" {
		t.Error("the entry of the caller was changed")
	}
}

// TestEveryTextIsRedacted: every text of an entry is redacted, also those that come from an object.
func TestEveryTextIsRedacted(t *testing.T) {
	const leak = "nats://admin:hunter2canary@example.org"
	e := Entry{Name: "a", Operation: OperationCreate}
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		// The API server validates names, and an operation is a constant.
		safe := slices.Contains([]string{"Name", "Namespace", "UID", "Operation"}, v.Type().Field(i).Name)
		if f := v.Field(i); f.Kind() == reflect.String && !safe {
			f.SetString(leak)
		}
	}
	text, err := encodeLine(e)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2canary") {
		t.Errorf("line: %s", text)
	}
}
