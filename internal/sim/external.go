package sim

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// An ExternalSystem lets the judges (the checks of a run) read an external system. The external name of an object
// identifies its resource. All methods are called on one goroutine. They must not change the system.
type ExternalSystem interface {
	// Traits returns the guarantees of the system.
	Traits() Traits
	// Changes returns the number of all changes of the system, by any client.
	Changes() int
	// Of returns the names of the existing resources that were created for an object.
	Of(object types.UID) []string
	// MadeFor returns whether the resource with the external name of mg exists, and the UID of the object for which it was
	// created. A resource that has mg as its stored owner counts as created for mg. The UID is "" if the resource was
	// created for no object.
	MadeFor(mg resource.Managed) (object types.UID, exists bool)
	// Lacks returns the first difference between mg (its spec or its status) and its external resource. It returns "" if
	// there is no difference.
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

// Changes returns the number of changes of the external system so far.
func (h *extSystem) Changes() int { return h.changes }

// Of returns the names of the resources that were created for an object and exist in the current backend.
func (h *extSystem) Of(object types.UID) []string {
	var names []string
	for _, p := range h.live(object) {
		if p.Backend == h.backend {
			names = append(names, p.ID)
		}
	}

	return names
}
