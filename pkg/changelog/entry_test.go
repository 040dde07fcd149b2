package changelog

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

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
