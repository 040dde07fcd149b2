//go:build unix

package tour

import (
	"os/exec"
	"syscall"
)

// apart lets a device, or a command, run in a process group of its own. In ours it would get Ctrl-C beside
// us, and might end before we know why.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
