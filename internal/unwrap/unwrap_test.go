package unwrap_test

import (
	"fmt"
	"testing"

	"github.com/moorage-dev/moorage/internal/unwrap"
)

type named string

func (n named) String() string { return string(n) }

type wrapper struct{ of any }

func (w wrapper) Unwrap() any { return w.of }

func TestAs(t *testing.T) {
	for reason, tc := range map[string]struct {
		client any
		want   string
	}{
		"it is one itself":         {client: named("a"), want: "a"},
		"one that it wraps is one": {client: wrapper{wrapper{named("b")}}, want: "b"},
		"the outermost goes before": {client: struct {
			named
			wrapper
		}{"c", wrapper{named("d")}}, want: "c"},
		"none is one":                      {client: wrapper{wrapper{3}}},
		"what wraps nothing is none":       {client: wrapper{}},
		"what does not wrap and is no one": {client: 3},
		"nothing is none":                  {},
	} {
		got, ok := unwrap.As[fmt.Stringer](tc.client)
		if ok != (tc.want != "") || ok && got.String() != tc.want {
			t.Errorf("%s: %v, %t, want %q", reason, got, ok, tc.want)
		}
	}
}
