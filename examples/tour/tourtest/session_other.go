//go:build !unix

package tourtest

import (
	"os"
	"os/exec"
)

func apart(*exec.Cmd) {}

func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }

func kill(p *os.Process) { _ = p.Kill() }

func session(int) []string { return nil }
