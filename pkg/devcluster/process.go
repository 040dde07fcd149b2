package devcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a child process that ends when this process ends. It reads its standard input, to which nothing is
// written, and exits when the input ends.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	line   chan struct{} // closed after the first line of standard output
	done   chan struct{} // closed after the exit
	stderr tail
}

func startProcess(name string, args ...string) (*process, error) {
	p := &process{
		name: filepath.Base(name),
		cmd:  exec.Command(name, args...),
		line: make(chan struct{}),
		done: make(chan struct{}),
	}
	p.cmd.Stderr = &p.stderr
	p.cmd.Stdout = &firstLine{seen: p.line}
	// The child has a separate process group, so that the owner determines which process gets Ctrl-C first.
	p.cmd.SysProcAttr = ownGroup()
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	p.stdin = stdin
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in the state of the process
		close(p.done)
	}()
	return p, nil
}

// awaitLine waits for the first line on standard output.
func (p *process) awaitLine(ctx context.Context, timeout time.Duration) error {
	return p.await(ctx, timeout, p.line)
}

func (p *process) await(ctx context.Context, timeout time.Duration, ready <-chan struct{}) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-ready:
		return nil
	case <-p.done:
		return p.exitError()
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("%s was not ready after %s; is the machine overloaded? %s", p.name, timeout, p.stderr.String())
	}
}

// exitError returns the reason why the process has ended by itself. If the process has written to standard error, this
// is the end of its text.
func (p *process) exitError() error {
	if words := p.stderr.String(); words != "" {
		return errors.New(words)
	}
	return fmt.Errorf("%s ended: %s", p.name, p.cmd.ProcessState)
}

// terminate sends SIGTERM to the process.
func (p *process) terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// closeInput closes the standard input of the process. The process then reacts as if this process had ended.
func (p *process) closeInput() error {
	if err := p.stdin.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// stop calls ask, which asks the process to end, and waits. After the timeout it kills the process.
func (p *process) stop(timeout time.Duration, ask func() error) error {
	if err := ask(); err != nil {
		return fmt.Errorf("cannot stop %s: %w", p.name, err)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.closeInput()
	case <-timer.C:
		p.kill()
		return fmt.Errorf("%s did not stop within %s and was killed", p.name, timeout)
	}
}

// kill kills the process and all processes that it has started, and waits until the process has ended.
func (p *process) kill() {
	killGroup(p.cmd.Process)
	<-p.done
	_ = p.closeInput()
}

// firstLine is a writer that closes the channel seen at the first line break.
type firstLine struct {
	seen chan struct{}
	once sync.Once
}

func (f *firstLine) Write(b []byte) (int, error) {
	if strings.ContainsRune(string(b), '\n') {
		f.once.Do(func() { close(f.seen) })
	}
	return len(b), nil
}

// tail is a writer that stores the last lines for error messages.
type tail struct {
	mu    sync.Mutex
	lines []string
}

const tailLines = 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := bufio.NewScanner(strings.NewReader(string(b))); s.Scan(); {
		t.lines = append(t.lines, s.Text())
	}
	t.lines = t.lines[max(0, len(t.lines)-tailLines):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.Join(t.lines, "\n"))
}

// runDetached starts a program that continues after this process has ended. It returns after the first line of the
// program's output. The program stays in the process group of this process, so that Ctrl-C in the terminal of a test
// run ends it, too.
func runDetached(ctx context.Context, timeout time.Duration, name string, args ...string) error {
	stdout, outWriter, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer stdout.Close()
	stderr, errWriter, err := os.Pipe()
	if err != nil {
		_ = outWriter.Close()
		return fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer stderr.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = outWriter, errWriter
	err = cmd.Start()
	_, _ = outWriter.Close(), errWriter.Close()
	if err != nil {
		return err
	}
	p := &process{name: filepath.Base(name), cmd: cmd, line: make(chan struct{}), done: make(chan struct{})}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(&p.stderr, stderr)
	}()
	go func() {
		// The process has ended when both of its streams have ended. A wait for the process itself would need a goroutine for
		// its whole lifetime.
		defer close(p.done)
		if _, err := io.Copy(&firstLine{seen: p.line}, stdout); err == nil {
			<-copied
		}
	}()
	if err := p.await(ctx, timeout, p.line); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}
	return cmd.Process.Release()
}
