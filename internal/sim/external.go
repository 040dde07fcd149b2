package sim

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// An ExternalSystem is the interface through which the judges (the checks of a run) read an external system. A resource
// is identified by the external name that an object has for it. One goroutine uses the interface. Its methods must not
// change the system.
type ExternalSystem interface {
	// Traits returns the guarantees of the system.
	Traits() Traits
	// Changes returns the number of all changes of the system, by any client.
	Changes() int
	// Of returns the names of the existing resources that were created for an object.
	Of(object types.UID) []string
	// MadeFor returns the object for which the resource of mg was created, and whether that resource exists. If the
	// resource has mg as its stored owner, it counts as created for mg. The object is "" if the resource was created for
	// no object.
	MadeFor(mg resource.Managed) (object types.UID, exists bool)
	// Lacks returns the first difference between the spec or the status of mg and its resource, or "".
	Lacks(mg resource.Managed) string
}

// Traits are the guarantees of an external system.
type Traits struct {
	Named   bool // the caller chooses the name, so no record is stored before a create
	Stamped bool // the owner is stored with the resource
	Blocks  bool // only a person can resolve an interrupted create
}

// Traits returns the guarantees of the class.
func (h *extSystem) Traits() Traits {
	return Traits{Named: h.class.named, Stamped: h.class.stamped, Blocks: h.class.blocks}
}

// Changes returns the number of all changes.
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
