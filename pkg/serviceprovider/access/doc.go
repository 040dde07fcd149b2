// Package access defines the IDs by which service providers distinguish the clusters of an object.
package access

// An ID identifies one of the clusters of an object.
type ID = string

// IDs of the clusters that every service may have.
const (
	// MCP is the control plane that the object belongs to.
	MCP ID = "mcp"

	// Workload is the cluster in which the workload of the service runs.
	Workload ID = "workload"
)
