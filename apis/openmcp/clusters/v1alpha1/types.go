package v1alpha1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Phases of a ClusterRequest and of an AccessRequest. An empty one is pending.
const (
	RequestPending = "Pending"
	RequestGranted = "Granted"
	RequestDenied  = "Denied"
)

// A Status has the common fields of the status of all kinds of the platform.
type Status struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Phase in one word.
	// +optional
	Phase string `json:"phase,omitempty"`

	// Conditions in detail.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// An ObjectReference names an object in a namespace.
type ObjectReference struct {
	// Name of the object.
	Name string `json:"name"`

	// Namespace of the object.
	Namespace string `json:"namespace"`
}

// A LocalObjectReference names an object in the namespace of the one that refers to it.
type LocalObjectReference struct {
	// Name of the object.
	Name string `json:"name"`
}

// An AccessRequestSpec defines the cluster to which access is requested, and the permissions. One of
// the two references is required, and cannot be changed.
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) || has(self.requestRef)",message="clusterRef or requestRef is required"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.clusterRef) || has(self.clusterRef) && self.clusterRef == oldSelf.clusterRef",message="clusterRef cannot be changed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.requestRef) || has(self.requestRef) && self.requestRef == oldSelf.requestRef",message="requestRef cannot be changed"
type AccessRequestSpec struct {
	// ClusterRef is the cluster.
	// +optional
	ClusterRef *ObjectReference `json:"clusterRef,omitempty"`

	// RequestRef is the ClusterRequest of the cluster.
	// +optional
	RequestRef *ObjectReference `json:"requestRef,omitempty"`

	// Token requests a token with permissions.
	// +optional
	Token *TokenConfig `json:"token,omitempty"`

	// OIDC requests access by an identity provider; it is passed on unchanged.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	OIDC *runtime.RawExtension `json:"oidc,omitempty"`
}

// A TokenConfig defines the permissions of a token.
type TokenConfig struct {
	// Permissions that are created for the token.
	// +optional
	Permissions []PermissionsRequest `json:"permissions,omitempty"`

	// RoleRefs are existing roles.
	// +optional
	RoleRefs []RoleRef `json:"roleRefs,omitempty"`
}

// A PermissionsRequest is a role to be created.
type PermissionsRequest struct {
	// Name of the role; one is generated if it is empty.
	// +optional
	Name string `json:"name,omitempty"`

	// Namespace of the role; without one it is a ClusterRole.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Rules of the role.
	Rules []rbacv1.PolicyRule `json:"rules"`
}

// A RoleRef names an existing role.
type RoleRef struct {
	// Kind is Role or ClusterRole.
	Kind string `json:"kind"`

	// Name of the role.
	Name string `json:"name"`

	// Namespace of a Role.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// An AccessRequestStatus is the observed state of an AccessRequest.
type AccessRequestStatus struct {
	Status `json:",inline"`

	// SecretRef names the Secret with the kubeconfig, in the namespace of the request.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`

// An AccessRequest requests access to a cluster.
type AccessRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec defines the requested access.
	// +optional
	Spec AccessRequestSpec `json:"spec,omitempty"`

	// Status is the observed state of the request.
	// +optional
	Status AccessRequestStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// An AccessRequestList is a list of requests.
type AccessRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []AccessRequest `json:"items"`
}

// A ClusterRequestSpec defines the purpose of the requested cluster. It cannot be changed.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot be changed"
type ClusterRequestSpec struct {
	// Purpose of the cluster, such as workload.
	// +kubebuilder:validation:MinLength=1
	Purpose string `json:"purpose"`

	// WaitForClusterDeletion keeps the request until its cluster is gone.
	// +optional
	WaitForClusterDeletion *bool `json:"waitForClusterDeletion,omitempty"`
}

// A ClusterRequestStatus is the observed state of a ClusterRequest.
type ClusterRequestStatus struct {
	Status `json:",inline"`

	// Cluster that was granted.
	// +optional
	Cluster *ObjectReference `json:"cluster,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Purpose",type=string,JSONPath=`.spec.purpose`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`

// A ClusterRequest requests a cluster.
type ClusterRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec defines the requested cluster.
	Spec ClusterRequestSpec `json:"spec"`

	// Status is the observed state of the request.
	// +optional
	Status ClusterRequestStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// A ClusterRequestList is a list of requests.
type ClusterRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []ClusterRequest `json:"items"`
}

// A ClusterSpec defines the profile and the purposes of a cluster.
type ClusterSpec struct {
	// Profile of the cluster's provider.
	// +optional
	Profile string `json:"profile,omitempty"`

	// Purposes that the cluster serves.
	// +optional
	Purposes []string `json:"purposes,omitempty"`

	// Tenancy is Exclusive or Shared.
	// +optional
	Tenancy string `json:"tenancy,omitempty"`
}

// A ClusterStatus is the observed state of a cluster.
type ClusterStatus struct {
	Status `json:",inline"`

	// APIServer is the address of the API server.
	// +optional
	APIServer string `json:"apiServer,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// A Cluster of the platform.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec defines the profile and the purposes of the cluster.
	// +optional
	Spec ClusterSpec `json:"spec,omitempty"`

	// Status is the observed state of the cluster.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// A ClusterList is a list of clusters.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []Cluster `json:"items"`
}
