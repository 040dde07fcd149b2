package v1

// An ObservedStatus records which state of the object its status is about. Embed
// it inline in a status and forward its methods, and the managed reconciler
// maintains it.
type ObservedStatus struct {
	// ObservedGeneration is the generation of the object that the last pass
	// worked on. While it is less than metadata.generation, the rest of the
	// status may be about an older spec.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// LastHandledReconcileAt is the value of the annotation
	// moorage.dev/reconcile-requested-at that was handled last.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
}

// GetObservedGeneration returns the generation of the object for which the status was written.
func (s *ObservedStatus) GetObservedGeneration() int64 { return s.ObservedGeneration }

// SetObservedGeneration sets the generation of the object for which the status was written.
func (s *ObservedStatus) SetObservedGeneration(generation int64) { s.ObservedGeneration = generation }

// GetLastHandledReconcileAt returns the last handled value of the annotation moorage.dev/reconcile-requested-at.
func (s *ObservedStatus) GetLastHandledReconcileAt() string { return s.LastHandledReconcileAt }

// SetLastHandledReconcileAt sets the last handled value of the annotation moorage.dev/reconcile-requested-at.
func (s *ObservedStatus) SetLastHandledReconcileAt(token string) { s.LastHandledReconcileAt = token }

// A ConnectionStatus identifies the published connection details of an object.
// Embed it inline in a status and forward its methods, and after a restart
// the managed reconciler need not read the Secret to know that nothing changed.
type ConnectionStatus struct {
	// ConnectionDetailsHash identifies the connection details that were
	// published last. It is salted and slow to compute, and reveals nothing
	// about a generated credential.
	// +optional
	ConnectionDetailsHash string `json:"connectionDetailsHash,omitempty"`
}

// GetConnectionDetailsHash returns the hash of the last published connection details.
func (s *ConnectionStatus) GetConnectionDetailsHash() string { return s.ConnectionDetailsHash }

// SetConnectionDetailsHash sets the hash of the last published connection details.
func (s *ConnectionStatus) SetConnectionDetailsHash(hash string) { s.ConnectionDetailsHash = hash }
