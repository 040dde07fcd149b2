package v1

// A CredentialsSource is where credentials come from.
// +kubebuilder:validation:Enum=None;Secret;InjectedIdentity;Environment;Filesystem
type CredentialsSource string

// The sources of credentials. A provider documents which of them it
// supports, and its operator configures which of them are allowed: the last
// three yield credentials of the provider and not of the user.
const (
	// CredentialsSourceNone needs no credentials.
	CredentialsSourceNone CredentialsSource = "None"

	// CredentialsSourceSecret takes the credentials from a key of a Secret.
	CredentialsSourceSecret CredentialsSource = "Secret"

	// CredentialsSourceInjectedIdentity supplies no credentials. The client of the external system finds the credentials
	// of the provider by itself.
	CredentialsSourceInjectedIdentity CredentialsSource = "InjectedIdentity"

	// CredentialsSourceEnvironment takes the credentials from an environment variable of the provider.
	CredentialsSourceEnvironment CredentialsSource = "Environment"

	// CredentialsSourceFilesystem takes the credentials from a file of the provider.
	CredentialsSourceFilesystem CredentialsSource = "Filesystem"
)

// A FsSelector names a file of the provider.
type FsSelector struct {
	// Path of the file.
	Path string `json:"path"`
}

// A LocalSecretKeySelector names one key of a Secret in the namespace of the
// referring object.
type LocalSecretKeySelector struct {
	LocalSecretReference `json:",inline"`

	// Key of the value.
	Key string `json:"key"`
}

// CommonCredentialSelectors locate the credentials of a cluster-scoped
// configuration. The selector that belongs to the source is required.
type CommonCredentialSelectors struct {
	// Fs is the file that holds the credentials.
	// +optional
	Fs *FsSelector `json:"fs,omitempty"`

	// Env is the environment variable that holds the credentials.
	// +optional
	Env *EnvSelector `json:"env,omitempty"`

	// SecretRef is the key of a Secret that holds the credentials.
	// +optional
	SecretRef *SecretKeySelector `json:"secretRef,omitempty"`
}

// LocalCredentialSelectors locate the credentials of a namespaced
// configuration. The selector that belongs to the source is required.
type LocalCredentialSelectors struct {
	// Fs is the file that holds the credentials.
	// +optional
	Fs *FsSelector `json:"fs,omitempty"`

	// Env is the environment variable that holds the credentials.
	// +optional
	Env *EnvSelector `json:"env,omitempty"`

	// SecretRef is the key of a Secret, in the namespace of the configuration,
	// that holds the credentials.
	// +optional
	SecretRef *LocalSecretKeySelector `json:"secretRef,omitempty"`
}
