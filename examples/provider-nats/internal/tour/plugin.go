package tour

import (
	"bytes"
	"context"
	stderrors "errors"
	"os"
	"os/exec"
	"strings"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A command of kubectl moorage shows to a user what a step claims. The zero value is none.
type command struct {
	line string // its arguments
	code int    // how it ends
}

// ask runs a command, and returns its line and what it prints. Without the program of kubectl moorage, or without a
// command, it returns "".
func (t *Tour) ask(ctx context.Context, c command) (string, error) {
	if t.o.Plugin == "" || c.line == "" {
		return "", nil
	}

	line := c.line
	if t.o.Namespace != devenv.Namespace {
		line += " -n " + t.o.Namespace
	}

	var printed bytes.Buffer

	cmd := exec.CommandContext(ctx, t.o.Plugin, strings.Fields(line)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+t.env.Cluster.Kubeconfig)
	cmd.Stdout, cmd.Stderr = &printed, &printed

	err := cmd.Run()

	var exit *exec.ExitError
	if err != nil && !stderrors.As(err, &exit) {
		return "", errors.Wrapf(err, "cannot run %s", t.o.Plugin)
	}

	text := "$ kubectl moorage " + line + "\n" + strings.TrimSpace(printed.String())
	if code := cmd.ProcessState.ExitCode(); code != c.code {
		return "", errors.Errorf("exit code %d, want %d: %s", code, c.code, text)
	}

	return text, nil
}
