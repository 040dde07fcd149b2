package tour

import (
	"io"
	"time"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/child"
)

// stopTimeout is how long the provider may take to stop.
const stopTimeout = 40 * time.Second

// startProvider starts the provider as a process of its own, which can be killed. Its output is also written to log.
func startProvider(program []string, kubeconfig string, poll time.Duration, log io.Writer) (*child.Process, error) {
	if len(program) == 0 {
		self, err := child.Self()
		if err != nil {
			return nil, err
		}

		program = []string{self}
	}

	return child.Start(append(program[:len(program):len(program)], "run",
		"--kubeconfig", kubeconfig, "--poll", poll.String(), "--poll-when-notified", "0", "--exit-on-stdin-eof",
		"--health-probe-bind-address", "0", "--metrics-bind-address", "0", "--status-addr", "127.0.0.1:0"), log)
}
