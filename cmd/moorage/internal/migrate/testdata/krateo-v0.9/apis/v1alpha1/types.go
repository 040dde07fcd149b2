// Package v1alpha1 has the kind Berth.
package v1alpha1

import (
	commonv1 "github.com/krateoplatformops/provider-runtime/apis/common/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the kind.
var GroupVersion = schema.GroupVersion{Group: "berth.example.org", Version: "v1alpha1"}

// BerthGroupVersionKind is that of Berth.
var BerthGroupVersionKind = GroupVersion.WithKind("Berth")

// AddToScheme adds the kind to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Berth{}, &BerthList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}

// BerthSpec is what is wanted.
type BerthSpec struct {
	// Length of the berth in metres. The default is 10.
	Length *int `json:"length,omitempty"`

	// TokenRef is where the token of the harbour is.
	TokenRef *commonv1.SecretKeySelector `json:"tokenRef,omitempty"`
}

// BerthStatus is what was observed.
type BerthStatus struct {
	commonv1.ConditionedStatus `json:",inline"`

	// ID that the harbour gave.
	ID string `json:"id,omitempty"`
}

// A Berth is a place for a ship.
type Berth struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BerthSpec   `json:"spec"`
	Status BerthStatus `json:"status,omitempty"`
}

// A BerthList is a list of them.
type BerthList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Berth `json:"items"`
}

// GetCondition returns a condition.
func (b *Berth) GetCondition(ct commonv1.ConditionType) commonv1.Condition {
	return b.Status.GetCondition(ct)
}

// SetConditions sets conditions.
func (b *Berth) SetConditions(c ...commonv1.Condition) { b.Status.SetConditions(c...) }
