package context_test

import (
	"fmt"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// A context without names of its own uses those of the process.
func ExampleNamesOf() {
	fmt.Println(synccontext.NamesOf(nil).Suffix)
	fmt.Println(synccontext.NamesOf(&synccontext.RegisterContext{Names: &translate.Names{Suffix: "red"}}).Suffix)
	// Output:
	// suffix
	// red
}
