//go:build !linux

package dev

import (
	"os/exec"
	"syscall"
)

// tie can do nothing here: Ctrl-C in a terminal reaches all processes at once, and whoever
// kills this one kills the others.
func tie(*exec.Cmd) {}

// tell sends a signal to a process.
func tell(cmd *exec.Cmd, s syscall.Signal) error { return cmd.Process.Signal(s) }
