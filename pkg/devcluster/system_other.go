//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package devcluster

import (
	"errors"
	"os"
	"syscall"
)

// flock returns an error, because devcluster does not run on this system. Programs that import this package still
// compile on this system, and may use EnvKubeconfig.
func flock(*os.File) (bool, error) {
	return false, errors.New("devcluster needs Linux, macOS or BSD; set " + EnvKubeconfig + " to use a cluster")
}

func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }

func interrupted(error) bool { return false }
