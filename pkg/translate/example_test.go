package translate_test

import (
	"fmt"

	"github.com/moorage-dev/moorage/pkg/translate"
)

// ExampleNames shows that the names of two virtual clusters on one host do not collide.
func ExampleNames() {
	for _, suffix := range []string{"red", "blue"} {
		names := translate.Names{Suffix: suffix}
		fmt.Println(names.PhysicalName("config", "default"), names.PhysicalNameClusterScoped("fast", "tenants"))
	}
	// Output:
	// config-x-default-x-red vcluster-fast-x-tenants-x-red
	// config-x-default-x-blue vcluster-fast-x-tenants-x-blue
}

// ExampleSafeConcatName shows a name that is truncated and ends in a hash.
func ExampleSafeConcatName() {
	name := translate.SafeConcatName("a-name-that-is-rather-long-for-an-object", "x", "and-its-namespace", "x", "suffix")
	fmt.Println(len(name), name)
	// Output: 63 a-name-that-is-rather-long-for-an-object-x-and-its-n-e793ae7eac
}
