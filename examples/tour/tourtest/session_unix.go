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

// apart makes a command run in its own session, and so in its own process group, which is what Ctrl-C signals.
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

// session returns the command lines of the processes of a session. It returns none on a system without /proc.
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
