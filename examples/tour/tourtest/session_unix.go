//go:build unix

package tourtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// apart runs a command in a session of its own, and so in a process group of its own, which
// is who gets Ctrl-C.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func interrupt(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGINT); errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	} else if err != nil {
		return fmt.Errorf("cannot interrupt: %w", err)
	}

	return nil
}

func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// session returns the processes of a session, where the system tells them by files (Linux
// does).
func session(id int) (processes []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		// The state, and the IDs of the parent, the process group and the session.
		if f := strings.Fields(after); len(f) > 3 && f[3] == strconv.Itoa(id) && f[0] != "Z" {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			processes = append(processes, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}

	return processes
}
