package dev

import (
	"os/exec"
	"syscall"
)

// tie gives a process a group of its own, so that Ctrl-C in a terminal reaches this one alone,
// which then ends the others in order; and it ends the process with this one, however that ends.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// tell sends a signal to a process, and to all that it has started.
func tell(cmd *exec.Cmd, s syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, s) }
