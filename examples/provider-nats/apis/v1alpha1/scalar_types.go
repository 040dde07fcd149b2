package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The two types below exist for their validation. A value that the API server stores but Go cannot read
// would stop the provider's watch of the whole kind, not only the one object.

// A Duration is a time span that is not negative, such as 1h30m.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must not be negative"
type Duration struct {
	metav1.Duration `json:",inline"`
}

// A Time is a point in time as RFC 3339 writes it, such as
// 2026-01-02T15:04:05Z.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Format=date-time
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$`
type Time struct {
	metav1.Time `json:",inline"`
}
