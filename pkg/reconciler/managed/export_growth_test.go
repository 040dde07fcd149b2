package managed

// Remembered returns of how many objects the process knows something.
func (r *Reconciler) Remembered() int {
	remembered := r.objects.Len()
	if r.lists != nil {
		objects, besides := r.lists.Size()
		remembered += objects + besides
	}

	return remembered
}
