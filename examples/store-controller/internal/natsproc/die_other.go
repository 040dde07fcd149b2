//go:build !linux

package natsproc

import "os/exec"

// dieWithParent can do nothing here: whoever kills this process kills the others.
func dieWithParent(*exec.Cmd) {}
