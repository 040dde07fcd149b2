package jsonpatch

// Tidy takes out of metadata what is empty, as its type has it. It changes m.
func Tidy(m map[string]any) {
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
