package tour

import (
	"bufio"
	"context"
	"debug/elf"
	stderrors "errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A process is a device that is served.
type process struct {
	cmd      *exec.Cmd
	ended    chan error
	patience time.Duration
}

// Serve starts a device, and returns how long that took until it was ready.
func serve(ctx context.Context, binary, dir string, patience time.Duration) (*process, time.Duration, error) {
	cmd := exec.CommandContext(ctx, binary, "serve", "--dir", dir, "--poll", poll.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, errors.Wrap(err, "cannot start the device")
	}
	p := &process{cmd: cmd, ended: make(chan error, 1), patience: patience}
	line, err := bufio.NewReader(out).ReadString('\n')
	took := time.Since(began)
	go func() { p.ended <- cmd.Wait() }()
	if err != nil || strings.TrimSpace(line) != "ready" {
		_ = cmd.Process.Kill()

		return nil, 0, errors.Errorf("the device is not ready, it says %q: %v", line, stderrors.Join(err, <-p.ended))
	}

	return p, took, nil
}

// Stop asks the device to end, and waits for that.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}

	return p.wait()
}

// Kill ends the device at once.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.wait() // it was killed

	return nil
}

func (p *process) wait() error {
	select {
	case err := <-p.ended:
		return err
	case <-time.After(p.patience):
		_ = p.cmd.Process.Kill()

		return errors.Errorf("the device does not end within %s", p.patience)
	}
}

// Memory returns how much of the device is in memory, and how much was at most since it
// was started, in bytes.
func (p *process) memory() (now, most int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0, errors.Wrap(err, "cannot measure memory (which takes Linux)")
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			now = kilobytes << 10
		case "VmHWM":
			most = kilobytes << 10
		}
	}
	if now == 0 || most == 0 {
		return 0, 0, errors.New("cannot measure memory: the system does not tell")
	}

	return now, most, nil
}

// Static returns an error if a binary needs others to run.
func static(binary string) error {
	f, err := elf.Open(binary)
	if err != nil {
		return errors.Wrap(err, "cannot read the binary")
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return errors.New("the binary is linked dynamically: build it with CGO_ENABLED=0")
		}
	}

	return nil
}
