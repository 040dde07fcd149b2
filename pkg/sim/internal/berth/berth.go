// Package berth is for simulations: a kind of managed resource that makes use of
// what the runtime offers a kind, and says little else. Start with Berth.
package berth

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// GroupVersion of the kind.
var GroupVersion = schema.GroupVersion{Group: "sim.moorage.dev", Version: "v1"}

// Kind is the managed kind.
var Kind = resource.ManagedKind(GroupVersion.WithKind("Berth"))

// A Berth is a place in a harbour.
type Berth struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// A Spec is what a user asks for.
type Spec struct {
	Length int64  `json:"length"`
	Quay   string `json:"quay,omitempty"` // cannot be changed

	// Beside names the berth at whose quay this one is to be, and BesideSelector
	// selects it. Only a Tender heeds them.
	Beside         *commonv1.NamespacedReference `json:"beside,omitempty"`
	BesideSelector *commonv1.NamespacedSelector  `json:"besideSelector,omitempty"`

	AccessToken string `json:"accessToken,omitempty"` // a secret, as its name says

	WriteConnectionSecretToRef *commonv1.LocalSecretReference `json:"writeConnectionSecretToRef,omitempty"`
}

// A Status is what was observed.
type Status struct {
	commonv1.ConditionedStatus `json:",inline"`
	commonv1.ObservedStatus    `json:",inline"`
	commonv1.ConnectionStatus  `json:",inline"`

	ID     string `json:"id,omitempty"`
	Length int64  `json:"length,omitempty"`
}

// GetCondition returns the condition of a type.
func (b *Berth) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return b.Status.GetCondition(t)
}

// SetConditions sets conditions.
func (b *Berth) SetConditions(c ...commonv1.Condition) { b.Status.SetConditions(c...) }

// GetObservedGeneration returns the generation that the status is about.
func (b *Berth) GetObservedGeneration() int64 { return b.Status.GetObservedGeneration() }

// SetObservedGeneration sets the generation that the status is about.
func (b *Berth) SetObservedGeneration(g int64) { b.Status.SetObservedGeneration(g) }

// GetLastHandledReconcileAt returns the request that was handled last.
func (b *Berth) GetLastHandledReconcileAt() string { return b.Status.GetLastHandledReconcileAt() }

// SetLastHandledReconcileAt sets the request that was handled last.
func (b *Berth) SetLastHandledReconcileAt(token string) { b.Status.SetLastHandledReconcileAt(token) }

// GetConnectionDetailsHash returns the hash of what was published last.
func (b *Berth) GetConnectionDetailsHash() string { return b.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of what was published last.
func (b *Berth) SetConnectionDetailsHash(hash string) { b.Status.SetConnectionDetailsHash(hash) }

// GetWriteConnectionSecretToReference returns where connection details go.
func (b *Berth) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return b.Spec.WriteConnectionSecretToRef
}

// DeepCopyObject returns a copy.
func (b *Berth) DeepCopyObject() runtime.Object {
	out := *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	b.Status.ConditionedStatus.DeepCopyInto(&out.Status.ConditionedStatus)
	out.Spec.WriteConnectionSecretToRef = b.Spec.WriteConnectionSecretToRef.DeepCopy()
	out.Spec.Beside = b.Spec.Beside.DeepCopy()
	out.Spec.BesideSelector = b.Spec.BesideSelector.DeepCopy()

	return &out
}

// A List of berths.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Berth `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *List) DeepCopyObject() runtime.Object {
	out := &List{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		// a copy of a Berth is one
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Berth))
	}

	return out
}

// AddToScheme registers the kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(GroupVersion.WithKind("Berth"), &Berth{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("BerthList"), &List{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("Tender"), &Tender{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("TenderList"), &TenderList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}
