package access_test

import (
	"fmt"

	"github.com/moorage-dev/moorage/pkg/serviceprovider/access"
)

// A service that needs a cluster for name service beside the usual ones gives it an ID of
// its own, with the builder's Clusters and in the Registration that asks for it.
func Example() {
	const dns access.ID = "dns"
	fmt.Println(access.MCP, access.Workload, dns)
	// Output: mcp workload dns
}
