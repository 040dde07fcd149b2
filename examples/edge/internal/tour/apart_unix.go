//go:build unix

package tour

import (
	"os/exec"
	"syscall"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// apart makes a device, or a command, run in its own process group. In the group of the demo it would get the same
// Ctrl-C, and might end before the demo has handled the signal.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// gotCtrlC reports whether Ctrl-C ended a process before it was in its own group: between the fork and that it is in
// the group of the demo.
func gotCtrlC(err error) bool {
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return false
	}
	status, ok := ended.Sys().(syscall.WaitStatus)

	return ok && status.Signaled() && status.Signal() == syscall.SIGINT
}
