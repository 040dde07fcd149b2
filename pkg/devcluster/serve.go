package devcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// credentialTTL is the validity of an issued client certificate. It is longer than any test run or demo, and short
// enough that a forgotten file is harmless.
const credentialTTL = 24 * time.Hour

// serve runs "devcluster serve" as a child of this process.
type serve struct {
	binary  string
	args    []string
	timeout time.Duration
	process *process // nil before the first start
}

func (s *serve) start(ctx context.Context) error {
	p, err := startProcess(s.binary, s.args...)
	if err != nil {
		return err
	}
	if err := p.awaitLine(ctx, s.timeout); err != nil {
		p.kill()
		return err
	}
	s.process = p
	return nil
}

func (s *serve) stop() error {
	if s.process == nil {
		return nil
	}
	return s.process.stop(stopTimeout, s.process.terminate)
}

func (s *serve) kill() error {
	if s.process != nil {
		s.process.kill()
	}
	return nil
}

// mintWith returns credentials that the devcluster program signs. The key of the certificate authority therefore never
// leaves its folder.
func mintWith(binary, dir string) credentials {
	return func(ctx context.Context, user string, groups []string) ([]byte, error) {
		args := []string{"kubeconfig", "--dir=" + dir, "--user=" + user, "--ttl=" + credentialTTL.String()}
		for _, g := range groups {
			args = append(args, "--group="+g)
		}
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Stderr = &stderr
		kubeconfig, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return nil, fmt.Errorf("%s", strings.TrimSpace(stderr.String()))
		}
		return kubeconfig, err
	}
}
