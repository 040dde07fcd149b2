package v1

// A Difference is a field of an external resource whose value is not the desired one. It needs a Path; the other fields
// may be zero.
type Difference struct {
	// Path of the field, relative to spec.forProvider, such as maxAge or sources[0].name. A name that is not a simple
	// word is quoted in brackets, as in labels["example.org/team"].
	Path string `json:"path"`

	// Desired is the value in the spec, as JSON. It is empty if the spec has no value. A long value is shortened, and ends
	// with "... (truncated)".
	// +optional
	Desired string `json:"desired,omitempty"`

	// Observed is the value of the external resource, as JSON. It is empty if the external resource has no value. A long
	// value is shortened, and ends with "... (truncated)".
	// +optional
	Observed string `json:"observed,omitempty"`

	// Immutable is true if an update cannot change the field.
	// +optional
	Immutable bool `json:"immutable,omitempty"`

	// Sensitive is true if the field is, or contains, a secret. Desired and Observed are then empty.
	// +optional
	Sensitive bool `json:"sensitive,omitempty"`
}

// A Drift lists in which fields an external resource differs from the spec.
type Drift struct {
	// Fields are the first differences, sorted by path. Each path occurs once.
	// +optional
	// +listType=map
	// +listMapKey=path
	Fields []Difference `json:"fields,omitempty"`

	// More is the number of differences that are not in fields.
	// +optional
	More int32 `json:"more,omitempty"`
}

// A DriftStatus records in which fields the external resource differs from the spec. Embed it inline in a status and
// forward its methods. The zero value records nothing.
type DriftStatus struct {
	// Drift lists the fields in which the external resource differs from the spec. It is absent if there are none, or if
	// they are not known.
	// +optional
	Drift *Drift `json:"drift,omitempty"`
}

// GetDrift returns the recorded differences, or nil if there are none. The caller must not change them.
func (s *DriftStatus) GetDrift() *Drift { return s.Drift }

// SetDrift records differences. Nil removes the record. The status keeps the pointer.
func (s *DriftStatus) SetDrift(d *Drift) { s.Drift = d }
