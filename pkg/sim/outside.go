package sim

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// An Outside is what judges ask of an external system, whatever it is. Resources
// are known by the external names that objects have for them. It is asked by one
// goroutine, and must not change the system.
type Outside interface {
	// Traits say what can be relied on.
	Traits() Traits

	// Changes counts what was changed in the system, by whomever.
	Changes() int

	// Of returns the names of what exists and was made for an object.
	Of(object types.UID) []string

	// MadeFor returns the object that the resource was made for by whose name
	// mg refers to it, and whether there is one. What bears the mark of mg counts as
	// made for it. Nobody's resource was made for "".
	MadeFor(mg resource.Managed) (object types.UID, exists bool)

	// Lacks says what mg lacks to be as asked for, as far as its resource and
	// its status show, or nothing.
	Lacks(mg resource.Managed) string
}

// Traits are what can be relied on in an external system.
type Traits struct {
	Named   bool // the caller chooses the name: a create needs no mark before it
	Stamped bool // the owner is stored with the resource
	Blocks  bool // an interrupted create cannot be resolved without a human
}

// Traits of the harbour.
func (h *harbour) Traits() Traits {
	return Traits{Named: h.class.named, Stamped: h.class.stamped, Blocks: h.class.blocks}
}

// Changes that were made.
func (h *harbour) Changes() int { return h.changes }

// Of returns the places made for an object in the harbour that is connected to.
func (h *harbour) Of(object types.UID) []string {
	var names []string
	for _, p := range h.live(object) {
		if p.System == h.system {
			names = append(names, p.ID)
		}
	}

	return names
}
