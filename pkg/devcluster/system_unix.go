//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package devcluster

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// flock takes the lock of an open file without waiting, and reports whether it has got the lock. The operating system
// releases the lock when the process ends.
func flock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// interrupted reports whether err says that Ctrl-C has ended a process.
func interrupted(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGINT
}
