package statuspage_test

import (
	"fmt"

	"github.com/moorage-dev/moorage/pkg/statuspage"
)

// A provider checks the address of its flag before it starts. It then calls Add with its manager, and gives the
// returned option to managed.Setup of each kind.
func Example() {
	for _, address := range []string{"127.0.0.1:8082", "", ":8082", "10.0.0.1:8082"} {
		fmt.Printf("%q is accepted: %t\n", address, statuspage.CheckAddress(address) == nil)
	}

	// Output:
	// "127.0.0.1:8082" is accepted: true
	// "" is accepted: true
	// ":8082" is accepted: false
	// "10.0.0.1:8082" is accepted: false
}
