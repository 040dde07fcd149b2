package main

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var group = schema.GroupVersion{Group: "messaging.example.org", Version: "v1"}

// An Account is the tenant's request for a NATS account. The provider delivers its credentials to the tenant's control
// plane, as a Secret with the name of the object.
type Account struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status AccountStatus `json:"status,omitempty"`
}

// An AccountStatus is the observed state of an account.
type AccountStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`

	// PublicKey identifies the account in NATS.
	PublicKey string `json:"publicKey,omitempty"`

	// Connections that it may have at the same time.
	Connections int64 `json:"connections,omitempty"`
}

// Finalizer keeps an object until its account is gone.
func (a *Account) Finalizer() string { return "messaging.example.org/account" }

// GetStatus returns the status.
func (a *Account) GetStatus() any { return a.Status }

// GetConditions returns the conditions.
func (a *Account) GetConditions() *[]metav1.Condition { return &a.Status.Conditions }

// SetPhase sets the phase.
func (a *Account) SetPhase(p string) { a.Status.Phase = p }

// SetObservedGeneration sets the generation that the status is about.
func (a *Account) SetObservedGeneration(g int64) { a.Status.ObservedGeneration = g }

// DeepCopyObject returns a copy.
func (a *Account) DeepCopyObject() runtime.Object {
	out := *a
	out.ObjectMeta = *a.ObjectMeta.DeepCopy()
	out.Status.Conditions = slices.Clone(a.Status.Conditions)

	return &out
}

// An AccountList is a list of accounts.
type AccountList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Account `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *AccountList) DeepCopyObject() runtime.Object {
	out := &AccountList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		if a, ok := l.Items[i].DeepCopyObject().(*Account); ok {
			out.Items = append(out.Items, *a)
		}
	}

	return out
}

// A Messaging is the configuration of the service, on the platform.
type Messaging struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Connections that each account may have at the same time.
	Connections int64 `json:"connections,omitempty"`

	// Poll is the interval between two passes over an account.
	Poll metav1.Duration `json:"poll,omitempty"`
}

// PollInterval returns the interval between two passes over an account.
func (m *Messaging) PollInterval() time.Duration { return m.Poll.Duration }

// DeepCopyObject returns a copy.
func (m *Messaging) DeepCopyObject() runtime.Object {
	out := *m
	out.ObjectMeta = *m.ObjectMeta.DeepCopy()

	return &out
}

// A MessagingList is a list of configurations.
type MessagingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Messaging `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *MessagingList) DeepCopyObject() runtime.Object {
	out := &MessagingList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		if m, ok := l.Items[i].DeepCopyObject().(*Messaging); ok {
			out.Items = append(out.Items, *m)
		}
	}

	return out
}

// addToScheme registers the kinds.
func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(group, &Account{}, &AccountList{}, &Messaging{}, &MessagingList{})
	metav1.AddToGroupVersion(s, group)

	return nil
}

// columns of accounts, as kubectl shows them.
var columns = []apiextensionsv1.CustomResourceColumnDefinition{
	{Name: "Ready", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].status`},
	{Name: "Reason", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].reason`},
	{Name: "Connections", Type: "integer", JSONPath: ".status.connections"},
}

func definition(
	kind, plural string, scope apiextensionsv1.ResourceScope, columns ...apiextensionsv1.CustomResourceColumnDefinition,
) *apiextensionsv1.CustomResourceDefinition {
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}

	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group.Group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: group.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				},
				AdditionalPrinterColumns: columns,
			}},
		},
	}
}
