//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"os/exec"
	"syscall"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// apart lets a program run in a process group of its own. In ours it would go on, though
// it is suspended, when the shell ends that has started us: the system wakes whoever is
// left behind like that.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Suspend stops the process where it is, as if its machine stood still.
func (p *Process) Suspend() error {
	return errors.Wrap(p.cmd.Process.Signal(syscall.SIGSTOP), "cannot suspend it")
}

// Resume lets a suspended process go on, as if no time had passed.
func (p *Process) Resume() error {
	return errors.Wrap(p.cmd.Process.Signal(syscall.SIGCONT), "cannot resume it")
}
