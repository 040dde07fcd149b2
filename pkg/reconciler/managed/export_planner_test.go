package managed

// ReadOnlyConfig returns the config of a Planner.
var ReadOnlyConfig = readOnly

// ErrPlanned is the error of a change that a Planner does not make.
var ErrPlanned = errPlanned
