// Package bucket has the managed kinds of package sim. Bucket implements every optional interface that the runtime
// offers to a kind, and has few fields of its own. Replica adds a reference to another object. Start with Bucket.
package bucket

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// GroupVersion is the API group and the version of the kinds Bucket, Replica and their lists.
var GroupVersion = schema.GroupVersion{Group: "sim.moorage.dev", Version: "v1"}

// Kind is the kind of Bucket, as the reconciler needs it.
var Kind = resource.ManagedKind(GroupVersion.WithKind("Bucket"))

// A Bucket is the managed resource of the simulations.
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// A Spec is the desired state.
type Spec struct {
	Size   int64  `json:"size"`
	Parent string `json:"parent,omitempty"` // immutable

	// ParentRef names the object whose external name becomes Parent. ParentSelector selects that object. Only a Replica
	// resolves the two fields.
	ParentRef      *commonv1.NamespacedReference `json:"parentRef,omitempty"`
	ParentSelector *commonv1.NamespacedSelector  `json:"parentSelector,omitempty"`

	AccessToken string `json:"accessToken,omitempty"` // a secret, as its name says

	WriteConnectionSecretToRef *commonv1.LocalSecretReference `json:"writeConnectionSecretToRef,omitempty"`
}

// A Status is the observed state.
type Status struct {
	commonv1.ConditionedStatus `json:",inline"`
	commonv1.ObservedStatus    `json:",inline"`
	commonv1.ConnectionStatus  `json:",inline"`
	commonv1.DriftStatus       `json:",inline"`

	ID   string `json:"id,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// GetCondition returns the condition of a type.
func (b *Bucket) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return b.Status.GetCondition(t)
}

// SetConditions sets conditions.
func (b *Bucket) SetConditions(c ...commonv1.Condition) { b.Status.SetConditions(c...) }

// GetObservedGeneration returns the generation that the status describes.
func (b *Bucket) GetObservedGeneration() int64 { return b.Status.GetObservedGeneration() }

// SetObservedGeneration sets the generation that the status describes.
func (b *Bucket) SetObservedGeneration(g int64) { b.Status.SetObservedGeneration(g) }

// GetLastHandledReconcileAt returns the last handled value of the reconcile request annotation.
func (b *Bucket) GetLastHandledReconcileAt() string { return b.Status.GetLastHandledReconcileAt() }

// SetLastHandledReconcileAt sets the last handled value of the reconcile request annotation.
func (b *Bucket) SetLastHandledReconcileAt(token string) { b.Status.SetLastHandledReconcileAt(token) }

// GetConnectionDetailsHash returns the hash of the last published connection details.
func (b *Bucket) GetConnectionDetailsHash() string { return b.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of the last published connection details.
func (b *Bucket) SetConnectionDetailsHash(hash string) { b.Status.SetConnectionDetailsHash(hash) }

// GetDrift returns in which fields the external resource differs.
func (b *Bucket) GetDrift() *commonv1.Drift { return b.Status.GetDrift() }

// SetDrift sets in which fields the external resource differs.
func (b *Bucket) SetDrift(d *commonv1.Drift) { b.Status.SetDrift(d) }

// GetWriteConnectionSecretToReference returns the reference to the Secret for connection details.
func (b *Bucket) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return b.Spec.WriteConnectionSecretToRef
}

// DeepCopyObject returns a copy.
func (b *Bucket) DeepCopyObject() runtime.Object {
	out := *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	b.Status.ConditionedStatus.DeepCopyInto(&out.Status.ConditionedStatus)
	b.Status.DriftStatus.DeepCopyInto(&out.Status.DriftStatus)
	out.Spec.WriteConnectionSecretToRef = b.Spec.WriteConnectionSecretToRef.DeepCopy()
	out.Spec.ParentRef = b.Spec.ParentRef.DeepCopy()
	out.Spec.ParentSelector = b.Spec.ParentSelector.DeepCopy()

	return &out
}

// A List is a list of buckets.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Bucket `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *List) DeepCopyObject() runtime.Object {
	out := &List{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		// a copy of a Bucket is one
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Bucket))
	}

	return out
}

// AddToScheme registers Bucket, Replica and their lists in a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(GroupVersion.WithKind("Bucket"), &Bucket{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("BucketList"), &List{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("Replica"), &Replica{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("ReplicaList"), &ReplicaList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}
