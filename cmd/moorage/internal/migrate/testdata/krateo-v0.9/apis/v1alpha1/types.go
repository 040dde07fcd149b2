// Package v1alpha1 has the kind Bucket.
package v1alpha1

import (
	commonv1 "github.com/krateoplatformops/provider-runtime/apis/common/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the kind.
var GroupVersion = schema.GroupVersion{Group: "bucket.example.org", Version: "v1alpha1"}

// BucketGroupVersionKind is that of Bucket.
var BucketGroupVersionKind = GroupVersion.WithKind("Bucket")

// AddToScheme adds the kind to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Bucket{}, &BucketList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}

// BucketSpec is what is wanted.
type BucketSpec struct {
	// Length of the bucket in GiB. The default is 10.
	Length *int `json:"length,omitempty"`

	// TokenRef is where the token of the storage is.
	TokenRef *commonv1.SecretKeySelector `json:"tokenRef,omitempty"`
}

// BucketStatus is what was observed.
type BucketStatus struct {
	commonv1.ConditionedStatus `json:",inline"`

	// ID that the storage gave.
	ID string `json:"id,omitempty"`
}

// A Bucket is a place for objects.
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BucketSpec   `json:"spec"`
	Status BucketStatus `json:"status,omitempty"`
}

// A BucketList is a list of them.
type BucketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Bucket `json:"items"`
}

// GetCondition returns a condition.
func (b *Bucket) GetCondition(ct commonv1.ConditionType) commonv1.Condition {
	return b.Status.GetCondition(ct)
}

// SetConditions sets conditions.
func (b *Bucket) SetConditions(c ...commonv1.Condition) { b.Status.SetConditions(c...) }
