// Package v1alpha1 holds the kinds of provider-harbour.
//
// +kubebuilder:object:generate=true
// +groupName=harbour.example.org
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// GroupVersion of the kinds.
var GroupVersion = schema.GroupVersion{Group: "harbour.example.org", Version: "v1alpha1"}

// BerthKind is what a controller of berths is made for.
var BerthKind = resource.ManagedKind(GroupVersion.WithKind("Berth"))

// A BerthSpec is what a user asks for.
type BerthSpec struct {
	// Metres of quay that the berth has.
	// +kubebuilder:validation:Minimum=1
	Metres int32 `json:"metres"`

	// Power says whether a ship can have electricity.
	// +optional
	Power bool `json:"power,omitempty"`
}

// A BerthStatus is what was seen.
type BerthStatus struct {
	commonv1.ConditionedStatus `json:",inline"`
	commonv1.ObservedStatus    `json:",inline"`

	// Ship that lies at the berth.
	// +optional
	Ship string `json:"ship,omitempty"`
}

// A Berth is a place at the quay of a harbour.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Synced",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="Ship",type="string",JSONPath=".status.ship"
type Berth struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BerthSpec   `json:"spec"`
	Status BerthStatus `json:"status,omitempty"`
}

// GetCondition returns the condition of a type.
func (b *Berth) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return b.Status.GetCondition(t)
}

// SetConditions sets conditions.
func (b *Berth) SetConditions(c ...commonv1.Condition) { b.Status.SetConditions(c...) }

// GetObservedGeneration returns the generation that the status is about.
func (b *Berth) GetObservedGeneration() int64 { return b.Status.ObservedGeneration }

// SetObservedGeneration sets the generation that the status is about.
func (b *Berth) SetObservedGeneration(g int64) { b.Status.ObservedGeneration = g }

// GetLastHandledReconcileAt returns the request that was handled last.
func (b *Berth) GetLastHandledReconcileAt() string { return b.Status.LastHandledReconcileAt }

// SetLastHandledReconcileAt sets the request that was handled last.
func (b *Berth) SetLastHandledReconcileAt(token string) { b.Status.LastHandledReconcileAt = token }

// A BerthList is a list of berths.
//
// +kubebuilder:object:root=true
type BerthList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Berth `json:"items"`
}

// AddToScheme makes the kinds known to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Berth{}, &BerthList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}
