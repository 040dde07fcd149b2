package managed

// Remembered returns of how many objects the process knows something.
func (r *Reconciler) Remembered() int {
	remembered := r.memory.Len()
	if r.roll != nil {
		objects, besides := r.roll.Size()
		remembered += objects + besides
	}

	return remembered
}
