package natsproc

import (
	"os/exec"
	"syscall"
)

// dieWithParent kills the process when this one is killed.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
