//go:build !linux

package natsproc

import "os/exec"

// dieWithParent does nothing: this system cannot tie a process to its parent. The killer of this process must kill the
// others, too.
func dieWithParent(*exec.Cmd) {}
