package tour

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// How long the provider may take to stop when it is asked to.
const stopTimeout = 40 * time.Second

// A process is the provider as a process of its own, which can be killed.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser // its end is the provider's, so that it never outlives us
	log   tail
	done  chan struct{}
}

func startProvider(program []string, kubeconfig string, poll time.Duration) (*process, error) {
	if len(program) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, errors.Wrap(err, "cannot find this program to start it as the provider")
		}

		program = []string{self}
	}

	p := &process{done: make(chan struct{})}
	p.cmd = exec.Command(program[0], append(program[1:], "run",
		"--kubeconfig", kubeconfig, "--poll", poll.String(), "--exit-on-stdin-eof",
		"--health-probe-bind-address", "0", "--metrics-bind-address", "0")...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log

	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, errors.Wrap(err, "cannot start the provider")
	}

	if err := p.cmd.Start(); err != nil {
		return nil, errors.Wrap(err, "cannot start the provider")
	}

	go func() {
		defer close(p.done)

		_ = p.cmd.Wait() // how it ended is in the state of the process
	}()

	return p, nil
}

// kill ends the process as a crash would, and fails if it was gone already.
func (p *process) kill() error {
	select {
	case <-p.done:
		return errors.Errorf("the provider ended by itself: %s", p.cmd.ProcessState)
	default:
	}

	if err := p.cmd.Process.Kill(); err != nil {
		return errors.Wrap(err, "cannot kill the provider")
	}

	<-p.done

	return nil
}

// stop asks the process to end, and kills it if it does not.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.stdin.Close()

	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		_ = p.kill()
	}
}

func (p *process) lastWords() string { return p.log.String() }

// A tail keeps the last lines that are written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.kept = append(t.kept, b...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = bytes.Clone(t.kept[over:])
	}

	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()

	text := string(t.kept)
	if len(t.kept) == tailSize {
		_, text, _ = strings.Cut(text, "\n") // the first line is cut
	}

	return text
}
