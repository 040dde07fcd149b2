// Package widget holds the kind that the benchmark measures: an object of about 3.8 KB of JSON, managed fields
// included, as objects of real providers are.
package widget

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// GroupVersion is that of the kind.
var GroupVersion = schema.GroupVersion{Group: "bench.moorage.dev", Version: "v1alpha1"}

// Kind is the managed kind.
var Kind = resource.ManagedKind(GroupVersion.WithKind("Widget"))

// A Widget is the managed resource of the benchmark.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// A Spec is the desired state of a Widget.
type Spec struct {
	Size  int64    `json:"size"`
	Notes []string `json:"notes,omitempty"`
}

// A Status is the observed state of a Widget.
type Status struct {
	commonv1.ConditionedStatus `json:",inline"`

	Size int64 `json:"size,omitempty"`
}

// New returns a Widget of the usual size.
func New(namespace, name string) *Widget {
	return &Widget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: map[string]string{"bench": "widget", "zone": "north"}},
		Spec: Spec{Size: 1, Notes: slices.Repeat([]string{strings.Repeat("widget ", 33)}, 7)},
	}
}

// GetCondition returns the condition of a type.
func (b *Widget) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return b.Status.GetCondition(t)
}

// SetConditions sets conditions.
func (b *Widget) SetConditions(c ...commonv1.Condition) { b.Status.SetConditions(c...) }

// Ready reports whether the Ready condition is true for the current generation.
func (b *Widget) Ready() bool {
	ready := b.GetCondition(commonv1.TypeReady)

	return ready.Status == "True" && ready.ObservedGeneration == b.Generation
}

// DeepCopyInto copies the object.
func (b *Widget) DeepCopyInto(out *Widget) {
	*out = *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Notes = slices.Clone(b.Spec.Notes)
	b.Status.ConditionedStatus.DeepCopyInto(&out.Status.ConditionedStatus)
}

// DeepCopyObject returns a copy of the object.
func (b *Widget) DeepCopyObject() runtime.Object {
	out := &Widget{}
	b.DeepCopyInto(out)

	return out
}

// A List is a list of widgets.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Widget `json:"items"`
}

// DeepCopyObject returns a copy of the list.
func (l *List) DeepCopyObject() runtime.Object {
	out := &List{TypeMeta: l.TypeMeta, Items: make([]Widget, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}

	return out
}

// AddToScheme registers the kind.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(GroupVersion.WithKind("Widget"), &Widget{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("WidgetList"), &List{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}

// CRD returns the definition of the kind.
func CRD() *apiextensionsv1.CustomResourceDefinition {
	type props = apiextensionsv1.JSONSchemaProps
	text, number := props{Type: "string"}, props{Type: "integer", Format: "int64"}
	object := func(p map[string]props) props { return props{Type: "object", Properties: p} }
	list := func(of props) props {
		return props{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &of}}
	}
	condition := object(map[string]props{
		"type": text, "status": text, "reason": text, "message": text,
		"lastTransitionTime": {Type: "string", Format: "date-time"}, "observedGeneration": number,
	})
	condition.Required = []string{"type"}
	conditions := list(condition)
	conditions.XListType, conditions.XListMapKeys = new("map"), []string{"type"}
	root := object(map[string]props{
		"spec":   object(map[string]props{"size": number, "notes": list(text)}),
		"status": object(map[string]props{"size": number, "conditions": conditions}),
	})

	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + GroupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: GroupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Widget", ListKind: "WidgetList", Plural: "widgets",
				Singular: "widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: GroupVersion.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
