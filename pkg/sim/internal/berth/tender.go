package berth

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

// TenderKind is the managed kind Tender.
var TenderKind = resource.ManagedKind(GroupVersion.WithKind("Tender"))

// AnnotationBesideBerth says that what a Tender refers to is a Berth, and not a Tender.
const AnnotationBesideBerth = "example.com/beside-a-berth"

// A Tender is a Berth at the quay of another one: it refers to that.
type Tender struct {
	Berth `json:",inline"`
}

// ResolveReferences puts the external name of the berth that is referred to into
// the spec.
func (t *Tender) ResolveReferences(ctx context.Context, r client.Reader) error {
	to := reference.To{Managed: &Tender{}, List: &TenderList{}}
	if t.GetAnnotations()[AnnotationBesideBerth] != "" {
		to = reference.To{Managed: &Berth{}, List: &List{}}
	}
	rsp, err := reference.NewAPIResolver(r, t).Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: t.Spec.Quay,
		Reference:    t.Spec.Beside,
		Selector:     t.Spec.BesideSelector,
		To:           to,
		Extract:      reference.ExternalName(),
	})
	if err != nil {
		return errors.Wrap(err, "cannot resolve spec.quay")
	}
	t.Spec.Quay, t.Spec.Beside = rsp.ResolvedValue, rsp.ResolvedReference

	return nil
}

// DeepCopyObject returns a copy.
func (t *Tender) DeepCopyObject() runtime.Object {
	// a copy of a Berth is one
	return &Tender{*t.Berth.DeepCopyObject().(*Berth)} //nolint:forcetypeassert // see above
}

// A TenderList is a list of tenders.
type TenderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Tender `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *TenderList) DeepCopyObject() runtime.Object {
	out := &TenderList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		// a copy of a Tender is one
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Tender)) //nolint:forcetypeassert // see above
	}

	return out
}

var definitions = schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}

// DefinitionKind is the kind of definitions.
var DefinitionKind = definitions.WithKind("CustomResourceDefinition")

// A Definition is a CustomResourceDefinition of which only the metadata matter.
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

// AddDefinitions registers the kind of definitions, where the real one is not.
func AddDefinitions(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(DefinitionKind, &Definition{})

	return nil
}
