package context_test

import (
	"fmt"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// ExampleNamesOf shows that a context without Names uses the defaults of the process.
func ExampleNamesOf() {
	fmt.Println(synccontext.NamesOf(nil).Suffix)
	fmt.Println(synccontext.NamesOf(&synccontext.RegisterContext{Names: &translate.Names{Suffix: "red"}}).Suffix)
	// Output:
	// suffix
	// red
}
