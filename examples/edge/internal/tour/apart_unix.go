//go:build unix

package tour

import (
	"os/exec"
	"syscall"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// apart lets a device, or a command, run in a process group of its own. In ours it would get Ctrl-C beside
// us, and might end before we know why.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// gotCtrlC reports whether a process was ended by Ctrl-C before it was in a group of its own: it is in ours
// between the fork and that.
func gotCtrlC(err error) bool {
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return false
	}
	status, ok := ended.Sys().(syscall.WaitStatus)

	return ok && status.Signaled() && status.Signal() == syscall.SIGINT
}
