package sim

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// An ExternalSystem is what the judges ask of an external system. Resources are identified by the external names that
// objects have for them. It is used by one goroutine, and must not change the system.
type ExternalSystem interface {
	// Traits returns what can be relied on.
	Traits() Traits
	// Changes counts all changes of the system, by any client.
	Changes() int
	// Of returns the names of the resources that exist and were made for an object.
	Of(object types.UID) []string
	// MadeFor returns the object that the resource of mg was made for, and whether
	// there is such a resource. A resource that has the owner mark of mg counts as
	// made for mg. For a resource that was made for no object it returns "".
	MadeFor(mg resource.Managed) (object types.UID, exists bool)
	// Lacks returns the first difference between mg and its resource, and between
	// its status and the resource, or nothing.
	Lacks(mg resource.Managed) string
}

// Traits are what can be relied on in an external system.
type Traits struct {
	Named   bool // the caller chooses the name: a create needs no mark before it
	Stamped bool // the owner is stored with the resource
	Blocks  bool // an interrupted create cannot be resolved without a human
}

// Traits returns those of the class.
func (h *extSystem) Traits() Traits {
	return Traits{Named: h.class.named, Stamped: h.class.stamped, Blocks: h.class.blocks}
}

// Changes counts all changes.
func (h *extSystem) Changes() int { return h.changes }

// Of returns the resources of an object in the current backend.
func (h *extSystem) Of(object types.UID) []string {
	var names []string
	for _, p := range h.live(object) {
		if p.Backend == h.backend {
			names = append(names, p.ID)
		}
	}

	return names
}
