package plugintest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// The folders of the plugin and of the page, from here.
const (
	plugin = "../../../../cmd/kubectl-moorage"
	page   = "../../../../docs/kubectl.md"
)

// A world is an API server, a NATS server, a running provider, and the plugin.
type world struct {
	*testing.T
	*devenv.Env

	js         jetstream.JetStream
	bin        string // folder of the programs
	kubeconfig string // of an administrator
}

// newWorld starts a world with the stream of the page: it must not be updated, and differs in maxAge.
func newWorld(t *testing.T, change ...func(*provider.Options)) *world {
	t.Helper()

	env, err := devenv.Start(t.Context(), devenv.Options{Progress: os.Stderr})
	must(t, err)
	t.Cleanup(func() { must(t, env.Stop()) })

	nc, err := nats.Connect(env.NATS.URL(), nats.Timeout(wait.Patience()))
	must(t, err)
	t.Cleanup(nc.Close)

	w := &world{T: t, Env: env, bin: t.TempDir()}
	w.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(wait.Patience()))
	must(t, err)

	ctrl.SetLogger(logr.Discard())

	o := provider.DefaultOptions()
	o.HealthAddress, o.MetricsAddress = "0", "0"

	for _, c := range change {
		c(&o)
	}

	running, err := env.RunProvider(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, running.Stop()) })

	w.build()
	w.kubeconfig = w.access("admin", "system:masters")
	w.drift()

	return w
}

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// build compiles the plugin. If this machine has no kubectl, a program of that name runs the plugin as kubectl does.
func (w *world) build() {
	w.Helper()

	cmd := exec.CommandContext(w.Context(), "go", "build", "-o", w.bin+string(filepath.Separator), ".")
	cmd.Dir = plugin

	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("cannot build the plugin: %v\n%s", err, out)
	}

	if _, err := exec.LookPath("kubectl"); err != nil {
		script := "#!/bin/sh\nname=$1\nshift\nexec \"kubectl-$name\" \"$@\"\n"
		must(w.T, os.WriteFile(filepath.Join(w.bin, "kubectl"), []byte(script), 0o700))
	}
}

// access writes the kubeconfig of a user.
func (w *world) access(user string, groups ...string) string {
	w.Helper()

	image, err := w.Cluster.UserKubeconfig(w.Context(), user, groups...)
	must(w.T, err)

	file := filepath.Join(w.TempDir(), user)
	must(w.T, os.WriteFile(file, image, 0o600))

	return file
}

// drift creates the stream, and changes its limit in NATS while the provider must not update it.
func (w *world) drift() {
	w.Helper()

	orders := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: devenv.Namespace, Name: "orders"}}
	orders.Spec.ForProvider.MaxAge = &v1alpha1.Duration{Duration: metav1.Duration{Duration: 24 * time.Hour}}
	must(w.T, w.Client.Create(w.Context(), orders))
	w.await(orders, commonv1.TypeReady, metav1.ConditionTrue)

	before := client.MergeFrom(orders.DeepCopy())
	meta.AddAnnotations(orders, map[string]string{
		meta.AnnotationKeyManagementPolicy: meta.ManagementPolicyObserve,
	})
	must(w.T, w.Client.Patch(w.Context(), orders, before))

	stream, err := w.js.Stream(w.Context(), "orders")
	must(w.T, err)

	cfg := stream.CachedInfo().Config
	cfg.MaxAge = 72 * time.Hour
	_, err = w.js.UpdateStream(w.Context(), cfg)
	must(w.T, err)

	before = client.MergeFrom(orders.DeepCopy())
	meta.AddAnnotations(orders, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "drift"})
	must(w.T, w.Client.Patch(w.Context(), orders, before))
	w.await(orders, commonv1.TypeUpToDate, metav1.ConditionFalse)
}

// await waits for a condition of an object.
func (w *world) await(s *v1alpha1.Stream, kind commonv1.ConditionType, status metav1.ConditionStatus) {
	w.Helper()
	wait.Until(w.T, s.GetName()+" has "+string(kind), func() bool {
		must(w.T, w.Client.Get(w.Context(), client.ObjectKeyFromObject(s), s))

		return s.GetCondition(kind).Status == status
	})
}

// run runs a line in a shell as a user of a kubeconfig, and returns the exit code and what was printed.
func (w *world) run(kubeconfig, line string) (code int, out string) {
	w.Helper()

	ctx, cancel := context.WithTimeout(w.Context(), wait.Patience())
	defer cancel()

	var printed bytes.Buffer

	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "BIN="+w.bin,
		"PATH="+w.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = &printed, &printed

	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		w.Fatalf("%s: %v", line, err)
	}

	return cmd.ProcessState.ExitCode(), strings.TrimSpace(printed.String())
}
