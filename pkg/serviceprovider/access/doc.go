// Package access has the names by which service providers tell the clusters of an object
// apart.
package access

// An ID of one of the clusters of an object.
type ID = string

// IDs of the clusters that every service may have.
const (
	// MCP is the control plane that the object belongs to.
	MCP ID = "mcp"

	// Workload is where workload runs.
	Workload ID = "workload"
)
