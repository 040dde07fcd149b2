package natsproc

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the process when this one dies.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
