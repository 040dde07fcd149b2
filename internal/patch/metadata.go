package patch

// DropEmptyMetadata removes annotations, labels, finalizers and owner references
// that are empty from metadata, as metav1.ObjectMeta does when it is encoded. It
// changes m.
func DropEmptyMetadata(m map[string]any) {
	for _, key := range []string{"annotations", "labels", "finalizers", "ownerReferences"} {
		switch value := m[key].(type) {
		case nil:
			delete(m, key)
		case map[string]any:
			if len(value) == 0 {
				delete(m, key)
			}
		case []any:
			if len(value) == 0 {
				delete(m, key)
			}
		}
	}
}
