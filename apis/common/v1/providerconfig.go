package v1

// A ProviderConfigStatus is the status of a provider's configuration. Embed it
// inline in a status of your own, or use it as it is, forward its methods, and the
// configuration's users are counted. The zero value is ready to use.
type ProviderConfigStatus struct {
	ConditionedStatus `json:",inline"`

	// Users is the number of objects that refer to this configuration. It is
	// brought up to date every few seconds.
	// +optional
	Users int64 `json:"users,omitempty"`
}

// GetUsers returns the number of objects that refer to the configuration.
func (s *ProviderConfigStatus) GetUsers() int64 { return s.Users }

// SetUsers sets the number of objects that refer to the configuration.
func (s *ProviderConfigStatus) SetUsers(n int64) { s.Users = n }

// TypeTerminating tells whether a configuration that is being deleted can go. It is
// written only then, and False while the configuration is in use.
const TypeTerminating ConditionType = "Terminating"

// ReasonInUse is the reason of TypeTerminating: deletion waits for the objects that
// refer to the configuration. The message names the first of them.
const ReasonInUse ConditionReason = "InUse"

// TypeConnected tells whether calls go over the connection that a configuration
// describes. It is written from when they first did not, or were too many.
const TypeConnected ConditionType = "Connected"

// Reasons of TypeConnected.
const (
	// ReasonConnectionAvailable: calls are let through.
	ReasonConnectionAvailable ConditionReason = "Available"

	// ReasonConnectionThrottled: calls are let through no faster than the external
	// system allows, which is less than is asked for.
	ReasonConnectionThrottled ConditionReason = "Throttled"

	// ReasonConnectionUnauthorized: the external system does not accept the
	// credentials.
	ReasonConnectionUnauthorized ConditionReason = "Unauthorized"

	// ReasonConnectionUnavailable: the external system does not work.
	ReasonConnectionUnavailable ConditionReason = "ExternalSystemUnavailable"
)
