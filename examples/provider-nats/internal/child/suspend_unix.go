//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"os/exec"
	"syscall"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// apart starts a program in a process group of its own. In ours it would be resumed when the shell that has
// started us ends: the system wakes suspended processes of orphaned groups.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Suspend pauses the process, as if its machine stood still.
func (p *Process) Suspend() error {
	return errors.Wrap(p.cmd.Process.Signal(syscall.SIGSTOP), "cannot suspend it")
}

// Resume resumes a suspended process, as if no time had passed.
func (p *Process) Resume() error {
	return errors.Wrap(p.cmd.Process.Signal(syscall.SIGCONT), "cannot resume it")
}
