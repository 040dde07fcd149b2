package chaos

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/child"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	// poll is how often the provider observes each stream, and pollWhenNotified how often while JetStream
	// notifies of its changes.
	poll, pollWhenNotified = time.Second, 5 * time.Minute

	// The lease of the leader.
	leaseDuration, renewDeadline, retryPeriod = 4 * time.Second, 3 * time.Second, time.Second

	// stopTimeout is how long the provider may take to stop.
	stopTimeout = 40 * time.Second

	// startAgain is the delay before a replica that has ended is started again, as in a cluster, only shorter.
	startAgain = 200 * time.Millisecond
)

// A fleet is the replicas of the provider. A replica that ends is started again, as in a cluster. Its
// methods may be called concurrently.
type fleet struct {
	program         []string
	kubeconfig, dir string

	cancel  context.CancelFunc // nil unless it runs
	keepers sync.WaitGroup

	mu       sync.Mutex
	replicas [2]*child.Process // nil: it does not run
	words    [2]*child.Process // the last ones
	panics   []string
	restored [2]int // how often each has ended after a restore of the API server
	failure  error  // of a start
}

// start starts one replica, or two of which one leads, that poll as the course says.
func (f *fleet) start(ctx context.Context, c course) error {
	ctx, f.cancel = context.WithCancel(ctx)
	n := 1

	if c.pair {
		n = 2
	}

	for i := range n {
		log, err := os.OpenFile(f.logFile(i), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			f.stop()

			return errors.Wrap(err, "cannot keep the log of the provider")
		}

		f.keepers.Go(func() {
			defer log.Close()

			f.keep(ctx, i, f.command(i, c), log)
		})
	}

	return nil
}

func (f *fleet) logFile(i int) string { return filepath.Join(f.dir, "provider-"+name(i)+".log") }

// name returns the name of a replica, which begins its holder identity.
func name(i int) string { return string(rune('a' + i)) }

func (f *fleet) command(i int, c course) []string {
	notified := time.Duration(0)
	if c.notified {
		notified = pollWhenNotified
	}

	out := append(f.program[:len(f.program):len(f.program)], "run",
		"--kubeconfig", f.kubeconfig, "--exit-on-stdin-eof",
		"--poll", poll.String(), "--poll-when-notified", notified.String(), "--timeout", "10s", "--max-reconcile-rate", "100",
		"--health-probe-bind-address", "0", "--metrics-bind-address", "0",
		"--change-log", filepath.Join(f.dir, "changes-"+name(i)+".log"))

	if c.pair {
		out = append(out, "--leader-election", "--leader-election-namespace", devenv.Namespace,
			"--leader-elect-identity", name(i),
			"--leader-elect-lease-duration", leaseDuration.String(), "--leader-elect-renew-deadline", renewDeadline.String(),
			"--leader-elect-retry-period", retryPeriod.String())
	}

	return out
}

// keep runs a replica, and starts it again when it has ended, until ctx ends.
func (f *fleet) keep(ctx context.Context, i int, command []string, log io.Writer) {
	for ctx.Err() == nil {
		p, err := child.Start(command, log)
		if err != nil {
			f.note(func() { f.failure = err })

			return
		}

		f.note(func() { f.replicas[i], f.words[i] = p, p })

		select {
		case <-ctx.Done():
			_ = p.Resume() // a suspended process does not react to a signal
			p.Stop(stopTimeout)
		case <-p.Done():
		}

		f.note(func() {
			f.replicas[i] = nil

			// The exit code of Go for a panic, a deadlock or invalid flags.
			if p.ExitCode() == 2 {
				f.panics = append(f.panics, p.LastWords())
			}

			if strings.Contains(p.LastWords(), controller.ErrRestored.Error()) {
				f.restored[i]++
			}
		})

		_ = pause(ctx, startAgain)
	}
}

func (f *fleet) note(what func()) {
	f.mu.Lock()
	defer f.mu.Unlock()

	what()
}

// stop ends all replicas and returns when they are gone.
func (f *fleet) stop() {
	if f.cancel != nil {
		f.cancel()
	}

	f.keepers.Wait()
}

// replica returns a replica if it runs, or nil.
func (f *fleet) replica(i int) *child.Process {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.replicas[i]
}

// ends returns how often each replica has ended because the API server was restored.
func (f *fleet) ends() [2]int {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.restored
}

// broken returns why a replica could not be started, and the output of panics.
func (f *fleet) broken() (panics []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.panics, f.failure
}

// lastWords returns the last output of the replicas.
func (f *fleet) lastWords() string {
	f.mu.Lock()
	defer f.mu.Unlock()

	text := ""

	for i, p := range f.words {
		if p != nil {
			text += fmt.Sprintf("--- %s:\n%s", name(i), p.LastWords())
		}
	}

	return text
}
