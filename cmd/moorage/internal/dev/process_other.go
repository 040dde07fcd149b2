//go:build !linux

package dev

import (
	"os/exec"
	"syscall"
)

// tie does nothing on this system: Ctrl-C in a terminal reaches all processes at once, and after a kill of this
// process the user has to kill the others.
func tie(*exec.Cmd) {}

// signal sends a signal to a process.
func signal(cmd *exec.Cmd, s syscall.Signal) error { return cmd.Process.Signal(s) }
