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

// A process is a running device.
type process struct {
	cmd      *exec.Cmd
	done     chan struct{} // closed when it has ended
	err      error         // of Wait
	patience time.Duration
}

// serve starts a device, and returns how long it took to become ready.
func serve(ctx context.Context, binary, dir string, patience time.Duration) (*process, time.Duration, error) {
	cmd := exec.CommandContext(ctx, binary, "serve", "--dir", dir, "--poll", poll.String(), "--exit-on-stdin-eof")
	apart(cmd)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // the device exits when this pipe closes, and so never outlives the demo
		return nil, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, errors.Wrap(err, "cannot start the device")
	}
	p := &process{cmd: cmd, done: make(chan struct{}), patience: patience}
	line, err := bufio.NewReader(out).ReadString('\n')
	took := time.Since(began)
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	if err != nil || strings.TrimSpace(line) != "ready" {
		_ = cmd.Process.Kill()
		<-p.done
		if gotCtrlC(p.err) {
			return serve(ctx, binary, dir, patience) // by then ctx is canceled
		}

		return nil, 0, errors.Errorf("the device is not ready, it says %q: %v", line, stderrors.Join(err, p.err))
	}

	return p, took, nil
}

// stop sends SIGTERM to the device, and waits until it has ended.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}

	return p.wait()
}

// kill sends SIGKILL to the device, and waits until it has ended.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.wait() // it was killed

	return nil
}

func (p *process) wait() error {
	select {
	case <-p.done:
		return p.err
	case <-time.After(p.patience):
		_ = p.cmd.Process.Kill()

		return errors.Errorf("the device does not end within %s", p.patience)
	}
}

// A usage is the memory of a device, in bytes: its resident memory, the anonymous and the file-backed part of that, and
// the peak since the start. The file cache of the kernel is in none of them.
type usage struct{ now, own, files, most int64 }

// memory returns the memory usage of the device.
func (p *process) memory() (u usage, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return u, errors.Wrap(err, "cannot measure memory (which takes Linux)")
	}
	figures := map[string]*int64{"VmRSS": &u.now, "RssAnon": &u.own, "RssFile": &u.files, "VmHWM": &u.most}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if figure, ok := figures[name]; ok && err == nil {
			*figure = kilobytes << 10
		}
	}
	if u.now == 0 || u.most == 0 {
		return u, errors.New("cannot measure memory: the system does not tell")
	}

	return u, nil
}

// static returns an error if a binary needs an interpreter or shared libraries.
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
