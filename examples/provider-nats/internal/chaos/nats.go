package chaos

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/child"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/test/port"
)

// ServeNATS runs a server of NATS as a process of its own. Its arguments are the folder of its data and its
// port. It prints its address when it is ready, and runs until ctx ends, or in, which is the standard
// input.
func ServeNATS(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("NATS needs a folder and a port")
	}

	port, err := strconv.Atoi(args[1])
	if err != nil {
		return errors.Wrap(err, "cannot parse the port of NATS")
	}

	server, err := devenv.StartNATS(args[0], port)
	if err != nil {
		return err
	}

	fmt.Fprintln(out, server.URL())

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	go func() {
		defer cancel()

		_, _ = io.Copy(io.Discard, in)
	}()

	<-ctx.Done()

	return server.Stop()
}

// A daemon is a server of NATS that can be stopped and started again on the same
// folder and port.
type daemon struct {
	program []string // with all its arguments
	url     string
	ports   *port.Range // keeps the port from others, also while the server is down

	mu      sync.Mutex
	process *child.Process
}

// newDaemon starts a server with its data in dir.
func newDaemon(ctx context.Context, program []string, dir string) (*daemon, error) {
	ports := port.NewRange()
	at, err := ports.Find()
	if err != nil {
		return nil, err
	}

	d := &daemon{
		program: append(program[:len(program):len(program)], dir, strconv.Itoa(at)),
		url:     "nats://127.0.0.1:" + strconv.Itoa(at),
		ports:   ports,
	}

	return d, d.start(ctx)
}

// natsReady is how long NATS may take to be ready.
const natsReady = 2 * time.Minute

func (d *daemon) start(ctx context.Context) error {
	p, err := child.Start(d.program, nil)
	if err != nil {
		return err
	}

	d.mu.Lock()
	d.process = p
	d.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, natsReady)
	defer cancel()

	for !strings.Contains(p.LastWords(), d.url) {
		select {
		case <-p.Done():
			return errors.Errorf("NATS ended by itself: %s", p.LastWords())
		default:
		}

		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return errors.Wrapf(err, "NATS does not become ready: %s", p.LastWords())
		}
	}

	return nil
}

// stop ends the server, by a crash or a request.
func (d *daemon) stop(hard bool) {
	d.mu.Lock()
	defer d.mu.Unlock()

	if d.process == nil {
		return
	}

	if hard {
		_ = d.process.Kill() // it may be gone already
	} else {
		d.process.Stop(natsReady)
	}

	d.process = nil
}
