package managed

// Remembered returns of how many objects the process knows something.
func (r *Reconciler) Remembered() int {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()

	remembered := len(r.memory.memos)
	if r.roll != nil {
		objects, besides := r.roll.Size()
		remembered += objects + besides
	}

	return remembered
}
