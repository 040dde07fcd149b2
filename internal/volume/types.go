// Package volume is for tests and examples of the library. It has a kind of managed resource whose external names are
// assigned by the external system, and a cloud in memory that assigns them. Start with Cloud.
package volume

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// GroupVersion is the API group and version of the kinds.
var GroupVersion = schema.GroupVersion{Group: "example.moorage.dev", Version: "v1"}

// Kind is the managed kind.
var Kind = resource.ManagedKind(GroupVersion.WithKind("Volume"))

// A Volume is a disk in a cloud.
type Volume struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// A Spec is the desired state.
type Spec struct {
	SizeGiB int64  `json:"sizeGiB"`
	Tier    string `json:"tier,omitempty"`

	WriteConnectionSecretToRef *commonv1.LocalSecretReference `json:"writeConnectionSecretToRef,omitempty"`
}

// A Status is the observed state.
type Status struct {
	commonv1.ConditionedStatus `json:",inline"`

	ID        string `json:"id,omitempty"`
	SizeGiB   int64  `json:"sizeGiB,omitempty"`
	UsedBytes int64  `json:"usedBytes,omitempty"`
	// Pruned is not in the schema of the CRD, so an API server removes it.
	Pruned string `json:"pruned,omitempty"`
}

// GetCondition returns the condition of a type.
func (v *Volume) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return v.Status.GetCondition(t)
}

// SetConditions sets conditions.
func (v *Volume) SetConditions(c ...commonv1.Condition) { v.Status.SetConditions(c...) }

// GetWriteConnectionSecretToReference returns the reference to the Secret for connection details.
func (v *Volume) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return v.Spec.WriteConnectionSecretToRef
}

func (v *Volume) want(d Disk) Disk {
	d.SizeGiB = v.Spec.SizeGiB

	return d
}

func (v *Volume) show(d Disk) {
	v.Status.ID, v.Status.SizeGiB, v.Status.UsedBytes = d.ID, d.SizeGiB, d.UsedBytes
}

// DeepCopyObject returns a copy.
func (v *Volume) DeepCopyObject() runtime.Object {
	out := *v
	out.ObjectMeta = *v.ObjectMeta.DeepCopy()
	out.Spec.WriteConnectionSecretToRef = v.Spec.WriteConnectionSecretToRef.DeepCopy()
	v.Status.ConditionedStatus.DeepCopyInto(&out.Status.ConditionedStatus)

	return &out
}

// A List is a list of volumes.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Volume `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *List) DeepCopyObject() runtime.Object {
	out := &List{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		// a copy of a Volume is a Volume
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Volume))
	}

	return out
}

// AddToScheme registers the kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(GroupVersion.WithKind("Volume"), &Volume{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("VolumeList"), &List{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("Snapshot"), &Snapshot{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("SnapshotList"), &SnapshotList{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("ProviderConfig"), &ProviderConfig{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("ProviderConfigList"), &ProviderConfigList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}
