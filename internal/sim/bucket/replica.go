package bucket

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ReplicaKind is the kind of Replica, as the reconciler needs it.
var ReplicaKind = resource.ManagedKind(GroupVersion.WithKind("Replica"))

// AnnotationParentIsBucket makes a Replica refer to a Bucket. By default it refers to another Replica.
const AnnotationParentIsBucket = "example.com/parent-is-a-bucket"

// A Replica is a Bucket that refers to another object, its parent.
type Replica struct {
	Bucket `json:",inline"`
}

// ResolveReferences sets spec.parent to the external name of the parent: the object to which spec.parentRef or
// spec.parentSelector refers.
func (t *Replica) ResolveReferences(ctx context.Context, r client.Reader) error {
	to := reference.To{Managed: &Replica{}, List: &ReplicaList{}}
	if t.GetAnnotations()[AnnotationParentIsBucket] != "" {
		to = reference.To{Managed: &Bucket{}, List: &List{}}
	}
	rsp, err := reference.NewAPIResolver(r, t).Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: t.Spec.Parent,
		Reference:    t.Spec.ParentRef,
		Selector:     t.Spec.ParentSelector,
		To:           to,
		Extract:      reference.ExternalName(),
	})
	if err != nil {
		return errors.Wrap(err, "cannot resolve spec.parent")
	}
	t.Spec.Parent, t.Spec.ParentRef = rsp.ResolvedValue, rsp.ResolvedReference

	return nil
}

// DeepCopyObject returns a copy.
func (t *Replica) DeepCopyObject() runtime.Object {
	// a copy of a Bucket is one
	return &Replica{*t.Bucket.DeepCopyObject().(*Bucket)}
}

// A ReplicaList is a list of replicas.
type ReplicaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Replica `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *ReplicaList) DeepCopyObject() runtime.Object {
	out := &ReplicaList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		// a copy of a Replica is one
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Replica))
	}

	return out
}

var definitions = schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}

// DefinitionKind is the kind of Definition.
var DefinitionKind = definitions.WithKind("CustomResourceDefinition")

// A Definition is a CustomResourceDefinition with metadata only.
type Definition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// DeepCopyObject returns a copy.
func (d *Definition) DeepCopyObject() runtime.Object {
	out := *d
	d.ObjectMeta.DeepCopyInto(&out.ObjectMeta)

	return &out
}

// AddDefinitions registers Definition in a scheme as the kind CustomResourceDefinition. The scheme must not have the
// real kind.
func AddDefinitions(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(DefinitionKind, &Definition{})

	return nil
}
