//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package child

import (
	"os/exec"

	"github.com/moorage-dev/moorage/pkg/errors"
)

func apart(*exec.Cmd) {}

// Suspend fails: this system cannot suspend processes.
func (p *Process) Suspend() error { return errors.New("this system cannot suspend processes") }

// Resume fails: this system cannot suspend processes.
func (p *Process) Resume() error { return errors.New("this system cannot suspend processes") }
