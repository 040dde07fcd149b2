package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// A child is the process of a provider.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Reader
	kill    context.CancelFunc
	patient time.Duration // how long an answer may take
}

// patience bounds the wait for an answer. It exceeds every timeout of the provider itself.
const patience = 7 * time.Minute

// spawn starts this program once more, as a provider. It ends with the context.
func spawn(ctx context.Context, kubeconfig string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}

	return launch(ctx, self, "provider", kubeconfig)
}

func launch(ctx context.Context, name string, args ...string) (*child, error) {
	ctx, kill := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr, cmd.WaitDelay = os.Stderr, 10*time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		kill()

		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		kill()

		return nil, err
	}
	if err := cmd.Start(); err != nil {
		kill()

		return nil, err
	}

	return &child{cmd: cmd, in: in, answers: bufio.NewReader(out), kill: kill, patient: patience}, nil
}

// send sends the child a command and returns its answer. A child that does not answer in time is killed.
func (c *child) send(command provider.Command) (provider.Answer, error) {
	overdue := time.AfterFunc(c.patient, c.kill)
	answer, err := c.ask(command)
	if !overdue.Stop() {
		err = errors.Join(fmt.Errorf("the provider is killed: it has not answered %s for %s", command.Do, c.patient), err)
	}

	return answer, err
}

func (c *child) ask(command provider.Command) (provider.Answer, error) {
	var answer provider.Answer
	if err := json.NewEncoder(c.in).Encode(command); err != nil {
		return answer, fmt.Errorf("cannot tell the provider to %s: %w", command.Do, err)
	}
	line, err := c.answers.ReadBytes('\n')
	if err != nil {
		return answer, fmt.Errorf("the provider did not answer %s: %w", command.Do, err)
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return answer, err
	}
	if answer.Error != "" {
		return answer, fmt.Errorf("the provider cannot %s: %s", command.Do, answer.Error)
	}

	return answer, nil
}

// cloud sets the latency of the external system, and whether it can be listed.
func (c *child) cloud(latency time.Duration, lists bool) error {
	_, err := c.send(provider.Command{Do: "cloud", Latency: latency, NoLists: !lists})

	return err
}

func (c *child) mark() error {
	_, err := c.send(provider.Command{Do: "mark"})

	return err
}

func (c *child) read() (provider.Figures, error) {
	answer, err := c.send(provider.Command{Do: "read"})

	return answer.Figures, err
}

// readWhen waits until the figures satisfy a condition, and returns them.
func (c *child) readWhen(ctx context.Context, what string, shown func(provider.Figures) bool) (provider.Figures,
	error) {
	figures, err := c.read()
	for end := time.Now().Add(5 * time.Minute); err == nil && !shown(figures); figures, err = c.read() {
		if time.Now().After(end) {
			return figures, fmt.Errorf("it is not so that %s", what)
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return figures, err
		}
	}

	return figures, err
}

// heap returns the bytes in use.
func (c *child) heap() (uint64, error) {
	answer, err := c.send(provider.Command{Do: "heap"})

	return answer.Heap, err
}

func (c *child) stop() error {
	_, err := c.send(provider.Command{Do: "stop"})

	return err
}

// end stops the child, or kills it if that takes too long.
func (c *child) end() error {
	defer c.kill()
	defer time.AfterFunc(c.patient, c.kill).Stop()

	return errors.Join(c.in.Close(), c.cmd.Wait())
}
