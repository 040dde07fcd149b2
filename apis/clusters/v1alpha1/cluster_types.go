package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A ClusterSpec defines the endpoint of a cluster and the credentials to use.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) || has(self.context)",message="secretRef or context is required"
type ClusterSpec struct {
	// SecretRef names the Secret, and the key in it, that holds the kubeconfig. It must
	// be self-contained: a kubeconfig that runs a program, reads a file, uses a proxy,
	// trusts any server or impersonates a user is refused.
	// +optional
	SecretRef *commonv1.LocalSecretKeySelector `json:"secretRef,omitempty"`

	// Context of the kubeconfig, by default its current one. Without a secretRef it is a
	// context of the kubeconfig that the connecting program was started with, if the
	// program allows it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Context string `json:"context,omitempty"`
}

// A ClusterStatus is the observed state of the connection.
type ClusterStatus struct {
	commonv1.ConditionedStatus `json:",inline"`

	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Revision of the connection. It changes whenever the connection is replaced, and is
	// empty while there is none.
	// +optional
	Revision string `json:"revision,omitempty"`

	// ConnectedAt is when the cluster first responded on this connection. It is empty
	// while there is no connection.
	// +optional
	ConnectedAt *metav1.MicroTime `json:"connectedAt,omitempty"`

	// ExpiresAt is when the credentials expire, if that is known.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// Error is the reason why there is no connection.
	// +optional
	Error string `json:"error,omitempty"`

	// Version of the API server, such as v1.36.4.
	// +optional
	Version string `json:"version,omitempty"`

	// Arch is the architecture that the API server runs on, such as amd64.
	// +optional
	Arch string `json:"arch,omitempty"`
}

// TypeHealthy is a condition type of a Cluster. It is False after several consecutive attempts to reach the cluster
// have failed. A Cluster also has the common TypeConnected, which is True once the cluster has responded on its current
// connection.
const TypeHealthy commonv1.ConditionType = "Healthy"

// Reasons why a Cluster is not connected, beside ReasonConnectionUnauthorized and
// ReasonConnectionUnavailable of the common ones.
const (
	// ReasonSecretMissing: there is no such Secret, or no such key in it.
	ReasonSecretMissing commonv1.ConditionReason = "SecretMissing"

	// ReasonKubeconfigRefused: the kubeconfig requires more than a connection to a cluster, or the spec names a context
	// that the connecting program does not allow.
	ReasonKubeconfigRefused commonv1.ConditionReason = "KubeconfigRefused"

	// ReasonKubeconfigInvalid: the kubeconfig is invalid.
	ReasonKubeconfigInvalid commonv1.ConditionReason = "KubeconfigInvalid"

	// ReasonCredentialsExpired: the certificate or token has expired.
	ReasonCredentialsExpired commonv1.ConditionReason = "CredentialsExpired"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Connected",type=string,JSONPath=`.status.conditions[?(@.type=="Connected")].status`
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.status.conditions[?(@.type=="Healthy")].status`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.connectedAt`

// A Cluster is another cluster, and the connection to it.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec defines the endpoint of the cluster and the credentials to use.
	Spec ClusterSpec `json:"spec"`

	// Status is the observed state of the connection.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// GetConnectedAt returns the time at which the connection was made, or nil if there is no connection.
func (c *Cluster) GetConnectedAt() *metav1.MicroTime { return c.Status.ConnectedAt }

// GetCondition returns the condition of the supplied type.
func (c *Cluster) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return c.Status.GetCondition(t)
}

// SetConditions adds or replaces conditions by their type.
func (c *Cluster) SetConditions(conditions ...commonv1.Condition) {
	c.Status.SetConditions(conditions...)
}

// +kubebuilder:object:root=true

// A ClusterList is a list of clusters.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []Cluster `json:"items"`
}
