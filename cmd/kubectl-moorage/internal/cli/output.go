package cli

import (
	"fmt"
	"io"
)

// An output remembers the first error of its writer: tables, help and single lines are written without a check. It is
// written by one goroutine at a time.
type output struct {
	to  io.Writer
	err error
}

// Write implements io.Writer. After an error it writes nothing more.
func (o *output) Write(p []byte) (n int, err error) {
	if o.err != nil {
		return 0, o.err
	}

	n, err = o.to.Write(p)
	if err != nil {
		o.err = fmt.Errorf("cannot write the output: %w", err)
	}

	return n, o.err
}
