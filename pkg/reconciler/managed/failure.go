package managed

import "github.com/moorage-dev/moorage/pkg/errors"

// A failure is an error that knows the stage of the pass that has failed.
type failure struct {
	stage row
	error
}

func (f *failure) Unwrap() error { return f.error }

// failed returns err as a failure of the stage. If err is nil, the result is nil.
func (s row) failed(err error) error {
	switch prefix := outcomes[s].prefix; {
	case err == nil:
		return nil
	case prefix == "":
		return &failure{s, err}
	default:
		return &failure{s, errors.Wrap(err, prefix)}
	}
}
