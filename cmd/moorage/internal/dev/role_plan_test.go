//go:build !race

// As with chart_test.go, what runs here are other programs.

package dev

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// The Job of the chart that shows what an upgrade would change.
const (
	planName = "cloud-provider-cloud-plan"
	planJob  = "/apis/batch/v1/namespaces/providers/jobs/" + planName
)

// A job is a Job with one container.
type job struct {
	Metadata struct{ UID string }
	Spec     struct {
		Template struct {
			Spec struct {
				ServiceAccountName string
				Containers         []struct {
					Command, Args []string
					EnvFrom       []struct{ SecretRef struct{ Name string } }
				}
			}
		}
	}
}

// planned upgrades the release of the chart with a plan before it, and plays the controller and the node that the
// cluster does not have: it runs the command line of the Job's container as a process, with the rights of its service
// account. It returns the exit code and the output of the process, and the error of the upgrade.
func planned(t *testing.T, s *session, upgrade func() error) (code int, output string, err error) {
	t.Helper()

	var before, now job
	if there(t, s, planJob) {
		get(t, s, planJob, &before)
	}

	ended := make(chan error, 1)
	go func() { ended <- upgrade() }()

	wait.Until(t, "the Job is there", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the upgrade has ended before its Job was run: %v", err)
		default:
		}

		if !there(t, s, planJob) {
			return false
		}

		get(t, s, planJob, &now)

		return now.Metadata.UID != before.Metadata.UID
	})

	code, output = runsJob(t, s, now)
	status := "succeeded: 1, completionTime: \"2026-01-01T00:00:01Z\", conditions: [{type: SuccessCriteriaMet, status: " +
		"\"True\"}, {type: Complete, status: \"True\"}]"
	if code != 0 {
		status = "failed: 1, conditions: [{type: FailureTarget, status: \"True\"}, {type: Failed, status: \"True\"}]"
	}

	text := fmt.Appendf(nil, "{apiVersion: batch/v1, kind: Job, metadata: {name: %s}, status: {startTime: "+
		"\"2026-01-01T00:00:00Z\", %s}}", planName, status)
	if err := s.cluster.call(t.Context(), http.MethodPatch, planJob+"/status?fieldManager=test&force=true", text,
		nil); err != nil {
		t.Fatal(err)
	}

	return code, output, <-ended
}

// runsJob runs the container of a Job.
func runsJob(t *testing.T, s *session, j job) (code int, output string) {
	t.Helper()

	pod := j.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.Containers[0].Command) > 0 || pod.ServiceAccountName != planName ||
		len(pod.Containers[0].EnvFrom) != 1 || pod.Containers[0].EnvFrom[0].SecretRef.Name != "api" {
		t.Fatalf("the Job runs another program, account or environment: %+v", pod)
	}

	account := accountOf(t, s, pod.ServiceAccountName)
	awaitRights(t, account, map[string]bool{buckets: true})

	// env has what the Secret has
	return processed(t, s, append(s.env(), "KUBECONFIG="+account), pod.Containers[0].Args...)
}

// processed runs the provider until it ends, and returns its exit code and its output.
func processed(t *testing.T, s *session, env []string, args ...string) (code int, output string) {
	t.Helper()

	cmd := exec.CommandContext(wait.Context(t), filepath.Join(s.Dir, "bin", "provider"), args...)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), env...)

	text, err := cmd.CombinedOutput()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}

	return cmd.ProcessState.ExitCode(), string(text)
}

// get reads an object of the API server.
func get(t *testing.T, s *session, path string, into any) {
	t.Helper()

	if err := s.cluster.call(t.Context(), http.MethodGet, path, nil, into); err != nil {
		t.Fatal(err)
	}
}

// plansUpgrades upgrades a release whose provider does not run: first with objects at rest, then with a changed spec.
// The second upgrade fails and changes nothing.
func plansUpgrades(t *testing.T, s *session, program, chart string) {
	t.Helper()

	command := pageUpgrade(t, chart)
	upgrade := func(values string) func() error {
		return func() error {
			args := append(slices.Clone(command), "--set", values, "--kubeconfig", s.kubeconfig)

			out, err := exec.Command(program, args...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}

			return nil
		}
	}
	replicas := func() int {
		var deployment struct{ Spec struct{ Replicas int } }
		get(t, s, "/apis/apps/v1/namespaces/providers/deployments/cloud-provider-cloud", &deployment)

		return deployment.Spec.Replicas
	}

	code, output, err := planned(t, s, upgrade("manager.replicas=3"))
	if code != 0 || err != nil || !strings.Contains(output, "Nothing was changed.") || replicas() != 3 {
		t.Errorf("at rest: exit code %d, %d replicas, %v\n%s", code, replicas(), err, output)
	}

	for _, kind := range []string{"clusterroles", "clusterrolebindings"} {
		if there(t, s, "/apis/rbac.authorization.k8s.io/v1/"+kind+"/"+planName) {
			t.Errorf("the plan has ended, and its %s is there", kind)
		}
	}

	o := newBucket(cloud, "default", "in-default")
	o.text = bytes.Replace(o.text, []byte("size: 40"), []byte("size: 41"), 1)

	if err := s.cluster.apply(t.Context(), []object{o}); err != nil {
		t.Fatal(err)
	}

	code, output, err = planned(t, s, upgrade("manager.replicas=4"))
	if code != 2 || err == nil || !strings.Contains(err.Error(), "pre-upgrade") ||
		!strings.Contains(output, "size 41 <- 40") || replicas() != 3 {
		t.Errorf("with a difference: exit code %d, %d replicas, %v\n%s", code, replicas(), err, output)
	}
}

// pageUpgrade returns the arguments of helm in docs/plan.md, for the release and the chart of this test.
func pageUpgrade(t *testing.T, chart string) []string {
	t.Helper()

	page, err := os.ReadFile(filepath.Join(repository, "docs", "plan.md"))
	if err != nil {
		t.Fatal(err)
	}

	_, after, ok := strings.Cut(string(page), "\n    helm upgrade provider-nats deploy/chart -n provider-nats ")
	if !ok {
		t.Fatal("docs/plan.md has no command that upgrades provider-nats")
	}

	line, _, _ := strings.Cut(after, "\n")

	return append([]string{"upgrade", "cloud", chart, "-n", "providers"}, strings.Fields(line)...)
}

// withoutKind compiles the provider, and runs the command plan for an API server without the kind, and with mistakes in
// the command line.
func withoutKind(t *testing.T, s *session) {
	t.Helper()

	if err := s.run(t.Context(), "go", "build", "-ldflags=-s -w", "-o", "bin/provider", "./cmd/provider"); err != nil {
		t.Fatal(err)
	}

	env := append(s.env(), "KUBECONFIG="+s.kubeconfig)

	for _, tc := range []struct {
		args  []string
		code  int
		lines int
		want  string
	}{
		{[]string{"plan"}, 1, 6, "cannot list objects of the kind Bucket: its CustomResourceDefinition has to be installed"},
		{[]string{"plan", "--kubeconfig", "none"}, 1, 1, "name a kubeconfig by --kubeconfig"},
		{[]string{"plna"}, 2, 1, `there is no command "plna"`},
	} {
		if code, output := processed(t, s, env, tc.args...); code != tc.code || !strings.Contains(output, tc.want) ||
			strings.Count(output, "\n") != tc.lines {
			t.Errorf("%q: exit code %d, want %d, and %d lines with %q:\n%s", tc.args, code, tc.code, tc.lines, tc.want, output)
		}
	}
}
