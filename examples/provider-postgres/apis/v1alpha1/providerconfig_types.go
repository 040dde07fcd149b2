package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A SecretReference names a Secret in the namespace of the object.
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// A NamespacedSecretReference names a Secret and its namespace.
type NamespacedSecretReference struct {
	SecretReference `json:",inline"`

	// Namespace of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
}

// Modes of TLS.
const (
	// TLSVerify verifies the certificate of the server and its host name.
	TLSVerify TLSMode = "verify"

	// TLSDisable sends everything, also passwords of the configuration if the server asks for them, in plain text.
	TLSDisable TLSMode = "disable"
)

// A TLSMode says whether connections are encrypted.
//
// +kubebuilder:validation:Enum=verify;disable
type TLSMode string

// TLS are the settings of encryption. There is no mode that encrypts without verifying: it would not protect from
// an attacker who answers instead of the server.
type TLS struct {
	// Mode of encryption.
	// +optional
	// +kubebuilder:default=verify
	Mode TLSMode `json:"mode,omitempty"`

	// CABundle are the PEM-encoded certificates that sign those of the server. Default: the ones of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`
}

// An Endpoint is the address of a PostgreSQL server.
type Endpoint struct {
	// Host is a name or an address.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._:-]+$`
	Host string `json:"host"`

	// Port of the server.
	// +optional
	// +kubebuilder:default=5432
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// Database to connect to. Other databases are managed from there.
	// +optional
	// +kubebuilder:default=postgres
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Database string `json:"database,omitempty"`

	// TLS are the settings of encryption.
	// +optional
	// +kubebuilder:default={mode: verify}
	TLS TLS `json:"tls,omitzero"`
}

// A ProviderConfigSpec defines the connection to a PostgreSQL server.
type ProviderConfigSpec struct {
	Endpoint `json:",inline"`

	// CredentialsSecretRef names the Secret with the keys username and password. The role needs LOGIN, CREATEDB and
	// CREATEROLE, and no more.
	CredentialsSecretRef SecretReference `json:"credentialsSecretRef"`
}

// A ClusterProviderConfigSpec defines the connection to a PostgreSQL server.
type ClusterProviderConfigSpec struct {
	Endpoint `json:",inline"`

	// CredentialsSecretRef names the Secret with the keys username and password. The role needs LOGIN, CREATEDB and
	// CREATEROLE, and no more.
	CredentialsSecretRef NamespacedSecretReference `json:"credentialsSecretRef"`
}

// A ProviderConfigStatus has the number of objects that use a configuration.
type ProviderConfigStatus struct {
	commonv1.ProviderConfigStatus `json:",inline"`
}

// A ProviderConfig is a connection to a PostgreSQL server, for the objects of its namespace that
// refer to it. Its Secret is in the same namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=providerconfigs,scope=Namespaced,categories={postgres}
// +kubebuilder:printcolumn:name="HOST",type="string",JSONPath=".spec.host"
// +kubebuilder:printcolumn:name="USERS",type="integer",JSONPath=".status.users"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProviderConfigSpec   `json:"spec"`
	Status ProviderConfigStatus `json:"status,omitzero"`
}

// GetCondition returns the condition of the given type, with status Unknown if there
// is none.
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

// A ClusterProviderConfig is a connection to a PostgreSQL server, for all objects that refer to it.
// Its Secret is in the namespace that it names. Every user with permission to create
// objects can use all ClusterProviderConfigs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterproviderconfigs,scope=Cluster,categories={postgres}
// +kubebuilder:printcolumn:name="HOST",type="string",JSONPath=".spec.host"
// +kubebuilder:printcolumn:name="USERS",type="integer",JSONPath=".status.users"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ClusterProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterProviderConfigSpec `json:"spec"`
	Status ProviderConfigStatus      `json:"status,omitzero"`
}

// GetCondition returns the condition of the given type, with status Unknown if there
// is none.
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
