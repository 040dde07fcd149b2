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
}

// Spawn starts this program once more, as a provider.
func spawn(kubeconfig string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "provider", kubeconfig)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}

	return &child{cmd: cmd, in: in, answers: bufio.NewReader(out)}, nil
}

// Tell the child to do something.
func (c *child) tell(command provider.Command) (provider.Answer, error) {
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

// Cloud sets how long the external system takes, and whether it can be listed.
func (c *child) cloud(latency time.Duration, lists bool) error {
	_, err := c.tell(provider.Command{Do: "cloud", Latency: latency, NoLists: !lists})

	return err
}

func (c *child) mark() error {
	_, err := c.tell(provider.Command{Do: "mark"})

	return err
}

func (c *child) read() (provider.Figures, error) {
	answer, err := c.tell(provider.Command{Do: "read"})

	return answer.Figures, err
}

// ReadWhen waits until the figures show something, and returns them.
func (c *child) readWhen(ctx context.Context, what string, shown func(provider.Figures) bool) (provider.Figures, error) {
	figures, err := c.read()
	for end := time.Now().Add(2 * time.Minute); err == nil && !shown(figures); figures, err = c.read() {
		if time.Now().After(end) {
			return figures, fmt.Errorf("it is not so that %s", what)
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return figures, err
		}
	}

	return figures, err
}

// Heap returns the bytes in use.
func (c *child) heap() (uint64, error) {
	answer, err := c.tell(provider.Command{Do: "heap"})

	return answer.Heap, err
}

func (c *child) stop() error {
	_, err := c.tell(provider.Command{Do: "stop"})

	return err
}

func (c *child) end() error {
	return errors.Join(c.in.Close(), c.cmd.Wait())
}
