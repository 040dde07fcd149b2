package dev

import (
	"cmp"
	"context"
	"os/exec"
	"strings"
)

// plugin is the program of kubectl moorage, and installPlugin the command that installs it.
const (
	plugin        = "kubectl-moorage"
	installPlugin = "go install github.com/moorage-dev/moorage/cmd/kubectl-moorage@latest"
)

// explain shows with kubectl moorage in what the examples differ from their spec, and why one of them is as it is. If
// the program is not installed, explain says how to install it. An answer that is no, or a failed command, is shown and
// is no error.
func (s *session) explain(ctx context.Context, examples []object) {
	if len(examples) == 0 {
		return
	}

	first := examples[0]
	about := strings.ToLower(first.Kind) + "/" + first.Metadata.Name
	namespace := cmp.Or(first.Metadata.Namespace, "default")

	program, err := exec.LookPath(plugin)
	if err != nil {
		s.say("kubectl moorage drift, why and history show what differs, why, and what happened, such as "+
			"kubectl moorage why %s -n %s; to install it: %s", about, namespace, installPlugin)

		return
	}

	for _, line := range []string{"drift -A", "why " + about + " -n " + namespace} {
		s.say("kubectl moorage %s:", line)

		out := &prefixed{to: s.Out, prefix: "  "}
		cmd := s.command(ctx, program, append(strings.Fields(line), "--kubeconfig", s.kubeconfig)...)
		cmd.Stdout, cmd.Stderr = out, out

		if err := cmd.Run(); err != nil && ctx.Err() == nil {
			s.say("kubectl moorage %s has ended: %v", line, err)
		}
	}

	s.say("kubectl moorage history %s -n %s shows what happened to it", about, namespace)
}
