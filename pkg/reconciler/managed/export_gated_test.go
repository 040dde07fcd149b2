package managed

import "github.com/moorage-dev/moorage/pkg/event"

// Pace returns the recorder that Setup or SetupGated made.
func (r *Reconciler) Pace() *event.PacedRecorder { return r.pace }
