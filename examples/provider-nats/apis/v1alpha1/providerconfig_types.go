package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// DefaultProviderConfig is the name of the ProviderConfig that is used by
// objects that name none.
const DefaultProviderConfig = "default"

// Where credentials come from.
const (
	CredentialsNone   = "None"
	CredentialsSecret = "Secret"
)

// What the Secret with the credentials holds.
const (
	CredentialsTypeCreds        = "Creds"
	CredentialsTypeNKey         = "NKey"
	CredentialsTypeToken        = "Token"
	CredentialsTypeUserPassword = "UserPassword"
)

// A SecretReference names a Secret of the ProviderConfig's own namespace.
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// A SecretKeyReference names one key of a Secret of the ProviderConfig's own
// namespace.
type SecretKeyReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key in the Secret. What it is called if left out depends on the field.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// Credentials are how the provider logs in to NATS.
//
// +kubebuilder:validation:XValidation:rule="self.source != 'Secret' || has(self.secretRef)",message="source Secret needs secretRef"
// +kubebuilder:validation:XValidation:rule="self.source != 'None' || !has(self.secretRef)",message="source None excludes secretRef"
type Credentials struct {
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
	SecretRef *SecretKeyReference `json:"secretRef,omitempty"`
}

// TLS says how the connection is protected.
type TLS struct {
	// CASecretRef is the Secret with the certificates to trust, in PEM. Its key
	// is called ca.crt if left out. Without it the system's are trusted.
	// +optional
	CASecretRef *SecretKeyReference `json:"caSecretRef,omitempty"`

	// CertSecretRef is a Secret of the type kubernetes.io/tls with the
	// certificate and key that the provider presents.
	// +optional
	CertSecretRef *SecretReference `json:"certSecretRef,omitempty"`

	// InsecureSkipVerify trusts every server. Never use it where it matters.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// A ProviderConfigSpec is how to reach a NATS system.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.domain) && has(self.jsPrefix))",message="domain and jsPrefix exclude each other"
type ProviderConfigSpec struct {
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
	Credentials Credentials `json:"credentials,omitzero"`

	// TLS of the connection. Left out it is used if the server asks for it.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
}

// A ProviderConfigStatus says who uses a configuration.
type ProviderConfigStatus struct {
	commonv1.ProviderConfigStatus `json:",inline"`
}

// A ProviderConfig is a connection to a NATS system, for the objects of its
// namespace that name it. Its Secrets are of the same namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={nats}
// +kubebuilder:printcolumn:name="SERVERS",type="string",JSONPath=".spec.servers"
// +kubebuilder:printcolumn:name="CREDENTIALS",type="string",JSONPath=".spec.credentials.source"
// +kubebuilder:printcolumn:name="CONNECTED",type="string",JSONPath=".status.conditions[?(@.type=='Connected')].status"
// +kubebuilder:printcolumn:name="USERS",type="integer",JSONPath=".status.users"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProviderConfigSpec   `json:"spec"`
	Status ProviderConfigStatus `json:"status,omitzero"`
}

// GetCondition returns the condition of the given type, with status Unknown if
// there is none.
func (p *ProviderConfig) GetCondition(ct commonv1.ConditionType) commonv1.Condition {
	return p.Status.GetCondition(ct)
}

// SetConditions sets conditions by their type.
func (p *ProviderConfig) SetConditions(c ...commonv1.Condition) { p.Status.SetConditions(c...) }

// GetUsers returns how many objects use the connection.
func (p *ProviderConfig) GetUsers() int64 { return p.Status.GetUsers() }

// SetUsers sets how many objects use the connection.
func (p *ProviderConfig) SetUsers(n int64) { p.Status.SetUsers(n) }

// A ProviderConfigList is a list of ProviderConfigs.
//
// +kubebuilder:object:root=true
type ProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProviderConfig `json:"items"`
}
