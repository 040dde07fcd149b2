package dev

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// patience is how long a process may take to end after SIGTERM.
const patience = 15 * time.Second

// A child is a process that runs until it is stopped.
type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start starts a process. Its output goes to out, with its name before each line.
func start(out io.Writer, dir, name string, env []string, program string, args ...string) (*child, error) {
	return startTo(&prefixed{to: out, prefix: name + ": "}, dir, name, env, program, args...)
}

// startTo starts a process whose output goes to lines.
func startTo(lines *prefixed, dir, name string, env []string, program string, args ...string) (*child, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = lines, lines, patience
	tie(cmd)

	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the %s: %w", name, err)
	}

	c := &child{name: name, cmd: cmd, done: make(chan struct{})}

	go func() {
		defer close(c.done)

		_ = cmd.Wait() // its state has the exit code

		lines.end()
	}()

	return c, nil
}

// stop asks the process to end, and kills it if it does not. A nil child has ended.
func (c *child) stop() {
	if c == nil || c.hasEnded() {
		return // another process may have its id by now
	}

	// Not SIGINT, which a background process may have to ignore.
	_ = signal(c.cmd, syscall.SIGTERM)

	select {
	case <-c.done:
	case <-time.After(patience):
		_ = signal(c.cmd, syscall.SIGKILL)
		<-c.done
	}
}

// ended returns a channel that is closed when the process has ended. A nil child never ends.
func (c *child) ended() <-chan struct{} {
	if c == nil {
		return nil
	}

	return c.done
}

// hasEnded reports whether the process has ended; then its state may be read.
func (c *child) hasEnded() bool {
	select {
	case <-c.ended():
		return true
	default:
		return false
	}
}

// how describes how the process has ended.
func (c *child) how() string { return fmt.Sprintf("the %s has ended: %s", c.name, c.cmd.ProcessState) }

// awaits repeats a call until it succeeds, the process ends, the time is over, or ctx ends.
func (c *child) awaits(ctx context.Context, limit time.Duration, call func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	for {
		err := call()
		if err == nil {
			return nil
		}

		select {
		case <-c.done:
			return fmt.Errorf("%s: %w", c.how(), err)
		case <-ctx.Done():
			return fmt.Errorf("gave up waiting for the %s: %w", c.name, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// A prefixed writes whole lines, each with a prefix. Several may share one writer if that is safe for concurrent use.
type prefixed struct {
	to     io.Writer
	prefix string
	show   func(line []byte) (text string, shown bool) // nil: each line as it is

	mu   sync.Mutex
	rest []byte
}

// Write keeps an incomplete line for later.
func (p *prefixed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.rest = append(p.rest, b...)

	for {
		line, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}

		if err := p.print(line); err != nil {
			return 0, err
		}

		p.rest = bytes.Clone(rest)
	}
}

// print writes a line, if it is shown.
func (p *prefixed) print(line []byte) error {
	text, shown := string(line), true
	if p.show != nil {
		text, shown = p.show(line)
	}

	if !shown {
		return nil
	}

	_, err := fmt.Fprintf(p.to, "%s%s\n", p.prefix, text)

	return err
}

// end writes the remainder as a line: it may say why a process ended.
func (p *prefixed) end() {
	p.mu.Lock()
	defer p.mu.Unlock()

	if len(p.rest) > 0 {
		_ = p.print(p.rest)
	}

	p.rest = nil
}

// A locked writer may be used concurrently.
type locked struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes under the lock.
func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.to.Write(b)
}
