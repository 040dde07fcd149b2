package app_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/plan"
)

// planPage is the page whose blocks are run.
const planPage = "../../../../docs/plan.md"

// A section of the page has blocks of code.
type section struct {
	title  string
	blocks []string
}

// sections returns the sections of the page that have blocks: indented lines, or those between fences.
func sections(t *testing.T) (out []section) {
	t.Helper()

	text, err := os.ReadFile(planPage)
	if err != nil {
		t.Fatal(err)
	}

	block := regexp.MustCompile("(?m)^```[a-z]*\n((?:.*\n)*?)```$|((?:^    .*\n)+)")
	for part := range strings.SplitSeq(string(text), "\n## ") {
		title, body, _ := strings.Cut(part, "\n")
		of := section{title: title}

		for _, found := range block.FindAllStringSubmatch(body, -1) {
			of.blocks = append(of.blocks, found[1]+found[2])
		}

		if of.blocks != nil {
			out = append(out, of)
		}
	}

	return out
}

// TestPlanPage runs the blocks of docs/plan.md, with objects in the states that the page shows. The command of helm is
// run by a test of cmd/moorage.
func TestPlanPage(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		fmt.Fprintf(os.Stderr, "NOT RUN: %s: %v\n", t.Name(), err)

		return
	}

	r := newReader(t)
	before := r.fingerprints()

	var titles []string

	for _, s := range sections(t) {
		titles = append(titles, s.title)

		switch s.title {
		case "# What would the provider change?":
			command, table, _ := strings.Cut(strings.TrimPrefix(s.blocks[0], "$ "), "\n")
			if code, out := r.shell(command); code != plan.ExitChanges || settled(out) != settled(table) {
				t.Errorf("exit code %d of %s: -page, +printed\n%s", code, command, cmp.Diff(settled(table), settled(out)))
			}
		case "Before an upgrade":
			code, out := r.shell("set -e\n" + s.blocks[0])
			if code != 0 || !strings.HasSuffix(out, "Nothing was changed.\n2") {
				t.Errorf("exit code %d of\n%s\n%s", code, s.blocks[0], out)
			}

			if len(s.blocks) != 2 || !strings.HasPrefix(strings.TrimSpace(s.blocks[1]), "helm upgrade ") {
				t.Errorf("nothing runs %q", s.blocks[1:])
			}
		case "Before I apply this file":
			if code, out := r.shell("cd examples\n" + s.blocks[0]); code != plan.ExitChanges ||
				!strings.Contains(out, " would be created") {
				t.Errorf("exit code %d of %s\n%s", code, s.blocks[0], out)
			}
		case "After a restore":
			if code, out := r.shell(s.blocks[0]); code != plan.ExitChanges || r.replicas() != 0 {
				t.Errorf("exit code %d, %d replicas after\n%s\n%s", code, r.replicas(), s.blocks[0], out)
			}
		case "In your own provider":
			r.compiles(s.blocks[0])
		default:
			t.Errorf("nothing runs the blocks of the section %q", s.title)
		}
	}

	if len(titles) != 5 {
		t.Errorf("there are blocks in %q: were all found?", titles)
	}

	r.unwritten(before)
}

// settled returns a table without durations, the number of calls and that of objects at rest, with single spaces.
func settled(table string) string {
	table = regexp.MustCompile(`\d+ calls? to list and \d+ to look`).ReplaceAllString(table, "n calls")
	table = regexp.MustCompile(`in [0-9.]+m?s`).ReplaceAllString(table, "in 1s")
	table = regexp.MustCompile(`\d+ objects|\d+ as it is`).ReplaceAllStringFunc(table, func(count string) string {
		_, what, _ := strings.Cut(count, " ")

		return "n " + what
	})

	return strings.TrimSpace(regexp.MustCompile(` +`).ReplaceAllString(table, " "))
}

// A reader follows the page. The test is also the controller of Jobs and the node that the cluster does not have.
type reader struct {
	*planned

	bin  string // folder of the program
	kube kubernetes.Interface

	output atomic.Pointer[string] // of the last Job
}

// newReader returns a reader in a cluster as the page has it: one stream differs, one is gone, and one object is
// deleted. The provider does not run.
func newReader(t *testing.T) *reader {
	t.Helper()

	r := &reader{planned: newPlanned(t), bin: t.TempDir()}

	cfg, err := r.env.Cluster.RESTConfig()
	r.must(err)
	r.kube, err = kubernetes.NewForConfig(cfg)
	r.must(err)

	self, err := os.Executable()
	r.must(err)
	r.must(os.WriteFile(filepath.Join(r.bin, "provider-nats"),
		fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec %q \"$@\"\n", asProgram, self), 0o700))

	var all []client.Object

	for namespace, names := range map[string][]string{"sea": {"orders", "payments"}, "land": {"audit", "trail"}} {
		r.configured(namespace)

		for _, name := range names {
			mg := r.stream(name)
			mg.Namespace, mg.Spec.ForProvider.MaxAge = namespace, &v1alpha1.Duration{
				Duration: metav1.Duration{Duration: 24 * time.Hour},
			}
			all = append(all, mg)
		}
	}

	r.provide(all)
	r.tamper("orders", func(c *jetstream.StreamConfig) { c.MaxAge = 72 * time.Hour })
	r.must(r.js.DeleteStream(t.Context(), "payments"))

	audit := r.stream("audit")
	audit.Namespace = "land"
	r.must(r.env.Client.Delete(t.Context(), audit))

	r.must(client.IgnoreAlreadyExists(r.env.Client.Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: provider.Name},
	})))
	r.deploys()
	r.plays()

	return r
}

// configured creates a namespace with the ProviderConfig and the Secret of the namespace of the environment.
func (r *reader) configured(namespace string) {
	r.Helper()
	r.must(r.env.Client.Create(r.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))

	for key, obj := range map[string]client.Object{
		v1alpha1.DefaultProviderConfig: &v1alpha1.ProviderConfig{}, "provider": &corev1.Secret{},
	} {
		r.must(r.env.Client.Get(r.Context(), client.ObjectKey{Namespace: devenv.Namespace, Name: key}, obj))
		obj.SetNamespace(namespace)
		obj.SetResourceVersion("")
		obj.SetUID("")
		obj.SetFinalizers(nil)
		r.must(r.env.Client.Create(r.Context(), obj))
	}
}

// deploys creates the Deployment of the provider, whose pods nothing runs.
func (r *reader) deploys() {
	r.Helper()

	deployment := &appsv1.Deployment{}
	r.deployed(filepath.Join("..", "base", "deployment.yaml"), deployment)
	r.must(r.env.Client.Create(r.Context(), deployment))
}

func (r *reader) replicas() int {
	r.Helper()

	deployment := &appsv1.Deployment{}
	r.must(r.env.Client.Get(r.Context(), client.ObjectKey{Namespace: provider.Name, Name: provider.Name}, deployment))

	return int(*deployment.Spec.Replicas)
}

// shell runs commands in the folder of the provider, as an administrator. It returns the exit code and the output.
func (r *reader) shell(commands string) (code int, printed string) {
	r.Helper()

	var out bytes.Buffer

	cmd := exec.CommandContext(r.Context(), "bash", "-c", commands)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.env.Cluster.Kubeconfig,
		"PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = &out, &out

	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		r.Fatal(err)
	}

	return cmd.ProcessState.ExitCode(), out.String()
}

// plays runs the pods of Jobs as a node and the controller of Jobs would, until the test ends.
func (r *reader) plays() {
	r.Helper()

	logs := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !strings.HasPrefix(q.URL.Path, "/containerLogs/"+provider.Name+"/") {
			http.NotFound(w, q)

			return
		}

		_, _ = w.Write([]byte(*r.output.Load())) // kubectl reports what it misses
	}))
	r.Cleanup(logs.Close)

	_, port, err := net.SplitHostPort(logs.Listener.Addr().String())
	r.must(err)
	number, err := strconv.ParseInt(port, 10, 32)
	r.must(err)

	node, err := r.kube.CoreV1().Nodes().Create(r.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}},
		metav1.CreateOptions{})
	r.must(err)

	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	_, err = r.kube.CoreV1().Nodes().UpdateStatus(r.Context(), node, metav1.UpdateOptions{})
	r.must(err)

	ctx, stop := context.WithCancel(r.Context())
	jobs, err := r.kube.BatchV1().Jobs(provider.Name).Watch(ctx, metav1.ListOptions{})
	r.must(err)

	ended := make(chan error, 1)
	go func() {
		var failed error
		for e := range jobs.ResultChan() {
			if job, ok := e.Object.(*batchv1.Job); ok && e.Type == "ADDED" && failed == nil {
				failed = r.runs(ctx, job)
			}
		}
		ended <- failed
	}()
	r.Cleanup(func() {
		stop()
		jobs.Stop()
		r.must(<-ended)
	})
}

// runs runs the container of a Job as a process, and records the result in its pod and in the Job.
func (r *reader) runs(ctx context.Context, job *batchv1.Job) error {
	container := job.Spec.Template.Spec.Containers[0]
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin, "provider-nats"), container.Args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.kubeconfig)

	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return err
	}

	code := cmd.ProcessState.ExitCode()
	text := string(out)
	r.output.Store(&text)

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name + "-1", Labels: job.Spec.Template.Labels},
		Spec:       job.Spec.Template.Spec,
	}
	pod.Spec.NodeName = "node"

	if err := controllerutil.SetControllerReference(job, pod, r.env.Client.Scheme()); err != nil {
		return err
	}

	if pod, err = r.kube.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}

	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: container.Name, Image: container.Image,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code)}},
	}}
	conditions := []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
	now := metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1}

	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
		conditions = []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed}
		job.Status = batchv1.JobStatus{StartTime: &now, Failed: 1}
	}

	for _, of := range conditions {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: of, Status: corev1.ConditionTrue})
	}

	if _, err = r.kube.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}

	_, err = r.kube.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{})

	return err
}

// compiles compiles the code that calls the command.
func (r *reader) compiles(code string) {
	r.Helper()

	file := filepath.Join(r.TempDir(), "main.go")
	r.must(os.WriteFile(file, slices.Concat([]byte(`package main

import (
	"context"
	"os"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/plan"
)

var credentials types.NamespacedName

const version = "v1.2.3"

func managerOptions([]string) manager.Options { return manager.Options{} }

func setup(context.Context, manager.Manager) error { return nil }

func main() {
	ctx := context.Background()
`), []byte(code), []byte("\tos.Exit(code)\n}\n")), 0o600))

	cmd := exec.CommandContext(r.Context(), "go", "vet", file)
	cmd.Dir = filepath.Join("..", "..")

	if out, err := cmd.CombinedOutput(); err != nil {
		r.Errorf("the code of the page does not compile: %v\n%s", err, out)
	}
}
