// Package v1alpha1 holds the kinds of provider-objectstore.
//
// +kubebuilder:object:generate=true
// +groupName=objectstore.example.org
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// GroupVersion is the group and version of the kinds.
var GroupVersion = schema.GroupVersion{Group: "objectstore.example.org", Version: "v1alpha1"}

// BucketKind is the kind that a controller of buckets is set up for.
var BucketKind = resource.ManagedKind(GroupVersion.WithKind("Bucket"))

// A BucketSpec is the desired state of a bucket.
type BucketSpec struct {
	// QuotaGiB limits the size of all objects in the bucket, in GiB.
	// +kubebuilder:validation:Minimum=1
	QuotaGiB int32 `json:"quotaGiB"`

	// Versioning keeps earlier versions of an object.
	// +optional
	Versioning bool `json:"versioning,omitempty"`
}

// A BucketStatus is the observed state of a bucket.
type BucketStatus struct {
	commonv1.ConditionedStatus `json:",inline"`
	commonv1.ObservedStatus    `json:",inline"`

	// Objects is the number of objects in the bucket.
	// +optional
	Objects int64 `json:"objects,omitempty"`
}

// A Bucket is a bucket of an object store.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Synced",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="Objects",type="integer",JSONPath=".status.objects"
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BucketSpec   `json:"spec"`
	Status BucketStatus `json:"status,omitempty"`
}

// GetCondition returns the condition of a type.
func (b *Bucket) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return b.Status.GetCondition(t)
}

// SetConditions sets conditions.
func (b *Bucket) SetConditions(c ...commonv1.Condition) { b.Status.SetConditions(c...) }

// GetObservedGeneration returns the generation that the status is about.
func (b *Bucket) GetObservedGeneration() int64 { return b.Status.ObservedGeneration }

// SetObservedGeneration sets the generation that the status is about.
func (b *Bucket) SetObservedGeneration(g int64) { b.Status.ObservedGeneration = g }

// GetLastHandledReconcileAt returns the reconcile request that was handled last.
func (b *Bucket) GetLastHandledReconcileAt() string { return b.Status.LastHandledReconcileAt }

// SetLastHandledReconcileAt sets the reconcile request that was handled last.
func (b *Bucket) SetLastHandledReconcileAt(token string) { b.Status.LastHandledReconcileAt = token }

// A BucketList is a list of buckets.
//
// +kubebuilder:object:root=true
type BucketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Bucket `json:"items"`
}

// AddToScheme adds the kinds to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Bucket{}, &BucketList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}
