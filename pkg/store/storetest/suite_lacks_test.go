package storetest

import (
	"context"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLacks checks that each optional function of a subject is listed when it is missing.
func TestLacks(t *testing.T) {
	var want []string
	for f := range reflect.TypeFor[Subject]().Fields() {
		if f.Name != "Store" {
			want = append(want, f.Name)
		}
	}
	if diff := cmp.Diff(want, Subject{}.lacks()); diff != "" {
		t.Errorf("of an empty subject: -want, +got:\n%s", diff)
	}
	fault := func(context.Context) error { return nil }
	on := func(context.Context, string) error { return nil }
	whole := Subject{
		BadKeys: []string{" "}, TooLarge: 1, Corrupt: on, Vanish: on, Sever: fault,
		Recreate: fault, Restart: fault,
	}
	if lacks := whole.lacks(); len(lacks) > 0 {
		t.Errorf("of a whole subject: %v", lacks)
	}
}
