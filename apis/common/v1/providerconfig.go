package v1

// A ProviderConfigStatus is the status of a provider's configuration. Embed it
// inline in another status, or use it directly, and forward its methods: then the
// users of the configuration are counted. The zero value is ready to use.
type ProviderConfigStatus struct {
	ConditionedStatus `json:",inline"`

	// Users is the number of objects that refer to this configuration. It is
	// updated every few seconds.
	// +optional
	Users int64 `json:"users,omitempty"`
}

// GetUsers returns the number of objects that refer to the configuration.
func (s *ProviderConfigStatus) GetUsers() int64 { return s.Users }

// SetUsers sets the number of objects that refer to the configuration.
func (s *ProviderConfigStatus) SetUsers(n int64) { s.Users = n }

// TypeTerminating reports whether the deletion of a configuration can complete. It is written only during a deletion,
// and False while the configuration is in use.
const TypeTerminating ConditionType = "Terminating"

// ReasonInUse is the reason of TypeTerminating: deletion waits for the objects that
// refer to the configuration. The message names the first of them.
const ReasonInUse ConditionReason = "InUse"

// TypeConnected reports whether calls over the connection that a configuration describes are possible. It is first
// written when calls have failed or were throttled.
const TypeConnected ConditionType = "Connected"

// Reasons of TypeConnected.
const (
	// ReasonConnectionAvailable: calls are possible.
	ReasonConnectionAvailable ConditionReason = "Available"

	// ReasonConnectionThrottled: calls are limited to the rate that the external
	// system allows, which is less than is needed.
	ReasonConnectionThrottled ConditionReason = "Throttled"

	// ReasonConnectionUnauthorized: the external system does not accept the
	// credentials.
	ReasonConnectionUnauthorized ConditionReason = "Unauthorized"

	// ReasonConnectionUnavailable: the external system does not work.
	ReasonConnectionUnavailable ConditionReason = "ExternalSystemUnavailable"
)
