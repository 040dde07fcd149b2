//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"syscall"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Suspend stops the process where it is, as if its machine stood still.
func (p *Process) Suspend() error {
	return errors.Wrap(p.cmd.Process.Signal(syscall.SIGSTOP), "cannot suspend it")
}

// Resume lets a suspended process go on, as if no time had passed.
func (p *Process) Resume() error {
	return errors.Wrap(p.cmd.Process.Signal(syscall.SIGCONT), "cannot resume it")
}
