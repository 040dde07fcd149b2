package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A NamespacedSecretReference names a Secret and its namespace.
type NamespacedSecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
}

// A NamespacedSecretKeyReference names one key of a Secret and its namespace.
type NamespacedSecretKeyReference struct {
	NamespacedSecretReference `json:",inline"`

	// Key in the Secret. What it is called if left out depends on the field.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// ClusterCredentials are how the provider logs in to NATS.
//
// +kubebuilder:validation:XValidation:rule="self.source != 'Secret' || has(self.secretRef)",message="source Secret needs secretRef"
// +kubebuilder:validation:XValidation:rule="self.source != 'None' || !has(self.secretRef)",message="source None excludes secretRef"
type ClusterCredentials struct {
	// Source of the credentials: None, or a Secret.
	// +kubebuilder:validation:Enum=None;Secret
	Source string `json:"source"`

	// Type of what the Secret holds: a credentials file (Creds, the default),
	// the seed of an nkey (NKey), a token (Token), or the two keys username
	// and password (UserPassword).
	// +optional
	// +kubebuilder:validation:Enum=Creds;NKey;Token;UserPassword
	Type string `json:"type,omitempty"`

	// SecretRef is the Secret. Its key is called user.creds, seed or token if
	// left out, depending on the type; UserPassword needs none.
	// +optional
	SecretRef *NamespacedSecretKeyReference `json:"secretRef,omitempty"`
}

// ClusterTLS says how the connection is protected.
type ClusterTLS struct {
	// CASecretRef is the Secret with the certificates to trust, in PEM. Its key
	// is called ca.crt if left out. Without it the system's are trusted.
	// +optional
	CASecretRef *NamespacedSecretKeyReference `json:"caSecretRef,omitempty"`

	// CertSecretRef is a Secret of the type kubernetes.io/tls with the
	// certificate and key that the provider presents.
	// +optional
	CertSecretRef *NamespacedSecretReference `json:"certSecretRef,omitempty"`

	// InsecureSkipVerify trusts every server. Never use it where it matters.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// A ClusterProviderConfigSpec is how to reach a NATS system.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.domain) && has(self.jsPrefix))",message="domain and jsPrefix exclude each other"
type ClusterProviderConfigSpec struct {
	// Servers of NATS, of which one that answers is used.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^(nats|tls|ws|wss)://[^@]+$`
	Servers []string `json:"servers"`

	// Domain of JetStream, if it is not the one of the server.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Domain string `json:"domain,omitempty"`

	// JSPrefix of the JetStream API, if an account imports it under another
	// one than $JS.API.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	JSPrefix string `json:"jsPrefix,omitempty"`

	// Credentials to log in with.
	// +optional
	// +kubebuilder:default={source: None}
	Credentials ClusterCredentials `json:"credentials,omitzero"`

	// TLS of the connection. Left out it is used if the server asks for it.
	// +optional
	TLS *ClusterTLS `json:"tls,omitempty"`
}

// A ClusterProviderConfig is a connection to a NATS system, for the objects of all
// namespaces that name it. Its Secrets are where it says.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={nats}
// +kubebuilder:printcolumn:name="SERVERS",type="string",JSONPath=".spec.servers"
// +kubebuilder:printcolumn:name="CREDENTIALS",type="string",JSONPath=".spec.credentials.source"
// +kubebuilder:printcolumn:name="CONNECTED",type="string",JSONPath=".status.conditions[?(@.type=='Connected')].status"
// +kubebuilder:printcolumn:name="USERS",type="integer",JSONPath=".status.users"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ClusterProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterProviderConfigSpec `json:"spec"`
	Status ProviderConfigStatus      `json:"status,omitzero"`
}

// GetCondition returns the condition of the given type, with status Unknown if
// there is none.
func (p *ClusterProviderConfig) GetCondition(ct commonv1.ConditionType) commonv1.Condition {
	return p.Status.GetCondition(ct)
}

// SetConditions sets conditions by their type.
func (p *ClusterProviderConfig) SetConditions(c ...commonv1.Condition) { p.Status.SetConditions(c...) }

// GetUsers returns how many objects use the connection.
func (p *ClusterProviderConfig) GetUsers() int64 { return p.Status.GetUsers() }

// SetUsers sets how many objects use the connection.
func (p *ClusterProviderConfig) SetUsers(n int64) { p.Status.SetUsers(n) }

// A ClusterProviderConfigList is a list of ClusterProviderConfigs.
//
// +kubebuilder:object:root=true
type ClusterProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterProviderConfig `json:"items"`
}
