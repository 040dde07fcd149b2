package conformance_test

import (
	"fmt"

	"github.com/moorage-dev/moorage/pkg/conformance"
)

// Each property is a subtest. docs/test-your-provider.md has a complete suite.
func ExampleProperties() {
	for _, p := range conformance.Properties() {
		if p.Name == "at-most-one" || p.Name == "unknown-is-not-absent" {
			fmt.Printf("%s: %s\n", p.Name, p.Sentence)
		}
	}
	// Output:
	// unknown-is-not-absent: Observe reports that a resource does not exist only if the external system said so
	// at-most-one: there is at most one resource for an object
}
