package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// A ServiceStatus has the common fields of the status of every service object. Embed it inline in the
// status of an API type; GetConditions, SetPhase and SetObservedGeneration of the type
// access its fields. Its JSON is that of the platform's common status.
type ServiceStatus struct {
	// ObservedGeneration is the generation of the object that the status is about.
	ObservedGeneration int64 `json:"observedGeneration"`

	// Conditions in detail.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Phase in one word.
	Phase string `json:"phase"`
}
