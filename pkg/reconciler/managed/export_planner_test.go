package managed

import "sigs.k8s.io/controller-runtime/pkg/manager"

// NewPlannerOf returns a Planner over a manager that was made already.
func NewPlannerOf(m manager.Manager) *Planner { return newPlanner(m) }

// ReadOnlyConfig returns the config of a Planner.
var ReadOnlyConfig = readOnly

// ErrPlanned is the error of a change that a Planner does not make.
var ErrPlanned = errPlanned
