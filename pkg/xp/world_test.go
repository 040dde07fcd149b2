package xp_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/xp"
)

var gv = schema.GroupVersion{Group: "xp.example.moorage.dev", Version: "v1"}

// A role is of a namespaced kind, with the methods that angryjet makes.
type role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   roleSpec          `json:"spec"`
	Status xp.ResourceStatus `json:"status,omitempty"`
}

// A roleSpec is that of a role.
type roleSpec struct {
	xp.ManagedResourceSpec `json:",inline"`

	ForProvider parameters `json:"forProvider,omitempty"`
}

// Parameters are what a resource is to be. A size that is not set is late-initialised.
type parameters struct {
	Color string `json:"color,omitempty"`
	Size  string `json:"size,omitempty"`
}

func (r *role) parameters() *parameters { return &r.Spec.ForProvider }

func (r *role) DeepCopyObject() runtime.Object {
	out := &role{TypeMeta: r.TypeMeta}
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	r.Spec.ManagedResourceSpec.DeepCopyInto(&out.Spec.ManagedResourceSpec)
	out.Spec.ForProvider = r.Spec.ForProvider
	r.Status.DeepCopyInto(&out.Status)

	return out
}

func (r *role) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return r.Status.GetCondition(t)
}

func (r *role) SetConditions(c ...commonv1.Condition) { r.Status.SetConditions(c...) }

func (r *role) GetManagementPolicies() commonv1.ManagementPolicies { return r.Spec.ManagementPolicies }

func (r *role) SetManagementPolicies(p commonv1.ManagementPolicies) { r.Spec.ManagementPolicies = p }

func (r *role) GetProviderConfigReference() *commonv1.ProviderConfigReference {
	return r.Spec.ProviderConfigReference
}

func (r *role) SetProviderConfigReference(p *commonv1.ProviderConfigReference) {
	r.Spec.ProviderConfigReference = p
}

func (r *role) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return r.Spec.WriteConnectionSecretToReference
}

func (r *role) SetWriteConnectionSecretToReference(s *commonv1.LocalSecretReference) {
	r.Spec.WriteConnectionSecretToReference = s
}

// A grant is of a cluster-scoped kind, with the methods that angryjet makes.
type grant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   grantSpec         `json:"spec"`
	Status xp.ResourceStatus `json:"status,omitempty"`
}

// A grantSpec is that of a grant.
type grantSpec struct {
	xp.ResourceSpec `json:",inline"`

	ForProvider parameters `json:"forProvider,omitempty"`
}

func (g *grant) parameters() *parameters { return &g.Spec.ForProvider }

func (g *grant) DeepCopyObject() runtime.Object {
	out := &grant{TypeMeta: g.TypeMeta}
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	g.Spec.ResourceSpec.DeepCopyInto(&out.Spec.ResourceSpec)
	out.Spec.ForProvider = g.Spec.ForProvider
	g.Status.DeepCopyInto(&out.Status)

	return out
}

func (g *grant) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return g.Status.GetCondition(t)
}

func (g *grant) SetConditions(c ...commonv1.Condition) { g.Status.SetConditions(c...) }

func (g *grant) GetManagementPolicies() commonv1.ManagementPolicies { return g.Spec.ManagementPolicies }

func (g *grant) SetManagementPolicies(p commonv1.ManagementPolicies) { g.Spec.ManagementPolicies = p }

func (g *grant) GetProviderConfigReference() *commonv1.ProviderConfigReference {
	return g.Spec.ProviderConfigReference
}

func (g *grant) SetProviderConfigReference(p *commonv1.ProviderConfigReference) {
	g.Spec.ProviderConfigReference = p
}

func (g *grant) GetWriteConnectionSecretToReference() *xp.SecretReference {
	return g.Spec.WriteConnectionSecretToReference
}

func (g *grant) SetWriteConnectionSecretToReference(s *xp.SecretReference) {
	g.Spec.WriteConnectionSecretToReference = s
}

func (g *grant) GetDeletionPolicy() xp.DeletionPolicy { return g.Spec.DeletionPolicy }

func (g *grant) SetDeletionPolicy(p xp.DeletionPolicy) { g.Spec.DeletionPolicy = p }

var (
	_ xp.ModernManaged = &role{}
	_ xp.LegacyManaged = &grant{}
)

// scheme returns one that knows the kinds, and Secrets.
func scheme(add ...func(*runtime.Scheme) error) *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(gv.WithKind("Role"), &role{})
	s.AddKnownTypeWithName(gv.WithKind("Grant"), &grant{})
	metav1.AddToGroupVersion(s, gv)

	for _, fn := range add {
		if err := fn(s); err != nil {
			panic(err)
		}
	}

	return s
}
