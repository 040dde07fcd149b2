//go:build unix

package device

import (
	"os"
	"syscall"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// lock ensures that one process at a time serves a directory.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Wrap(err, "cannot lock the directory")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()

		return nil, errors.Wrap(err, "cannot lock the directory: is it served already?")
	}

	return func() { _ = f.Close() }, nil
}
