package apicore

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
)

// FuzzEqual: Equal is reflect.DeepEqual for values of JSON.
func FuzzEqual(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"a":1}`, `{"a":1}`}, {`{"a":1}`, `{"a":1.5}`}, {`{"a":null}`, `{"b":null}`}, {`[]`, `{}`},
		{`{"a":[1,{"b":"c"}]}`, `{"a":[1,{"b":"d"}]}`}, {`"a"`, `true`},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var x, y any
		if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
			return
		}
		if got, want := Equal(x, y), reflect.DeepEqual(x, y); got != want {
			t.Errorf("Equal(%s, %s) = %t, want %t", a, b, got, want)
		}
	})
}
