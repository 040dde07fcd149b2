// Package child runs a program as a process of its own, which can be asked to end, killed as by a crash,
// and suspended as by a machine that is paused. It never outlives its parent, if it ends with its standard
// input. Start with [Start].
package child

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Process is a running program. Its methods may be called concurrently. Use
// Start.
type Process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser // the program ends when it is closed, and so never outlives us
	log   tail
	done  chan struct{}
}

// Start starts a program with its arguments; without any, this program. The last part of its output is
// kept, and all of it also written to also, which may be nil.
func Start(program []string, also io.Writer) (*Process, error) {
	p := &Process{cmd: exec.Command(program[0], program[1:]...), done: make(chan struct{})}

	apart(p.cmd)

	var out io.Writer = &p.log
	if also != nil {
		out = io.MultiWriter(&p.log, also)
	}

	p.cmd.Stdout, p.cmd.Stderr = out, out

	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, errors.Wrapf(err, "cannot start %s", program[0])
	}

	if err := p.cmd.Start(); err != nil {
		return nil, errors.Wrapf(err, "cannot start %s", program[0])
	}

	go func() {
		defer close(p.done)

		_ = p.cmd.Wait() // the result is in the state of the process
	}()

	return p, nil
}

// Self returns this program, to start it with other arguments.
func Self() (string, error) {
	self, err := os.Executable()

	return self, errors.Wrap(err, "cannot find this program")
}

// Kill ends the process as a crash would and returns when it is gone. It fails if it had ended already.
func (p *Process) Kill() error {
	select {
	case <-p.done:
		return errors.Errorf("it ended by itself: %s", p.cmd.ProcessState)
	default:
	}

	if err := p.cmd.Process.Kill(); err != nil {
		return errors.Wrap(err, "cannot kill it")
	}

	<-p.done

	return nil
}

// Stop asks the process to end, and kills it if it does not within the timeout.
// It returns when it is gone.
func (p *Process) Stop(timeout time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.stdin.Close()

	select {
	case <-p.done:
	case <-time.After(timeout):
		_ = p.Kill()
	}
}

// Done is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode returns the exit code of a process that has ended, or -1 if a signal ended it.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// LastWords returns the last lines that the process printed.
func (p *Process) LastWords() string { return p.log.String() }
