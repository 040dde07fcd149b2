package dev

import (
	"os/exec"
	"syscall"
)

// tie gives a process a group of its own, so that Ctrl-C in a terminal reaches this process alone, which then ends the
// others in order; and it lets the kernel kill it when this process ends, in any way.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// signal sends a signal to a process and its children.
func signal(cmd *exec.Cmd, s syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, s) }
