package tour

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// build compiles a program: the one that the tour runs and kills, or kubectl moorage.
func build(t *testing.T, dir string) string {
	t.Helper()

	program := filepath.Join(t.TempDir(), "program")
	// It is not debugged: without debug information, the linker needs half the time.
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, ".")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0") // under the race detector, too: nothing is compiled twice

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	return program
}

// A saboteur makes the claim of one step false. Its tour must fail.
type saboteur struct {
	*Tour

	step string
	done bool // after the action rather than before it
	harm func(saboteur, context.Context) error
	want string // of the error

	plugin string // kubectl moorage; empty: it shows nothing
}

func (s saboteur) pause(ctx context.Context) error {
	return s.patch(ctx, s.stream("orders"), `{"metadata":{"annotations":{"krateo.io/paused":"true"}}}`)
}

func (s saboteur) createStream(ctx context.Context, name string) error {
	_, err := s.js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".elsewhere"}})

	return err
}

func (s saboteur) change(ctx context.Context, name string, change func(*jetstream.StreamConfig)) error {
	info, err := s.info(ctx, name)
	if err != nil {
		return err
	}

	change(&info.Config)
	_, err = s.js.UpdateStream(ctx, info.Config)

	return err
}

func saboteurs() []saboteur {
	return []saboteur{
		{
			step: "ready", want: "orders is Ready",
			harm: func(s saboteur, ctx context.Context) error { return s.createStream(ctx, "orders") },
		},
		{step: "ready", want: "orders is Ready", harm: func(s saboteur, ctx context.Context) error {
			return s.env.Client.Create(ctx, &corev1.Secret{ObjectMeta: s.meta("orders-connection")})
		}},
		{step: "steady", want: "want at most 0", harm: func(s saboteur, ctx context.Context) error {
			if err := s.patch(ctx, s.stream("audit"),
				`{"spec":{"forProvider":{"description":"changed in a quiet moment"}}}`); err != nil {
				return err
			}

			return s.ready(ctx, s.stream("audit")) // and the provider has reported it
		}},
		{step: "change", want: "messages stay 48 hours", harm: saboteur.pause},
		{step: "drift", want: "the change is undone", harm: saboteur.pause},
		{step: "foreign", done: true, want: "the stream of accounting", harm: func(s saboteur, ctx context.Context) error {
			return s.change(ctx, foreign, func(c *jetstream.StreamConfig) { c.MaxAge = 5 * time.Minute })
		}},
		{step: "foreign", done: true, want: foreign, harm: func(s saboteur, ctx context.Context) error {
			return s.js.DeleteStream(ctx, foreign)
		}},
		{
			step: "killed", done: true, want: "intruder",
			harm: func(s saboteur, ctx context.Context) error { return s.createStream(ctx, "intruder") },
		},
		{step: "killed", want: "at most 1000 messages", harm: saboteur.pause},
		{
			step: "killed", want: "job-20 is Ready",
			harm: func(s saboteur, ctx context.Context) error { return s.createStream(ctx, "job-20") },
		},
		{step: "deleted", want: "orders is gone", harm: func(s saboteur, ctx context.Context) error {
			return s.patch(ctx, s.stream("orders"),
				`{"metadata":{"finalizers":["example.org/hold","finalizer.managedresource.krateo.io"]}}`)
		}},
	}
}

func TestEveryStepHasASaboteur(t *testing.T) {
	harmed := map[string]bool{}
	for _, s := range saboteurs() {
		harmed[s.step] = true
	}

	for _, s := range steps() {
		if !harmed[s.name] {
			t.Errorf("no test checks that the step %q can fail", s.name)
		}
	}
}

// start starts the servers of a tour.
func start(t *testing.T) *devenv.Env {
	t.Helper()

	env, err := devenv.Start(t.Context(), devenv.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})

	return env
}

// TestTour runs the tour undisturbed, and it succeeds; then with each of the saboteurs, and it fails in the
// step with the false claim. A saboteur's number and step are the name of its test in
// internal/testrun/proof.txt.
func TestTour(t *testing.T) {
	env, program := start(t), build(t, "../..")

	t.Run("Undisturbed", func(t *testing.T) {
		out, err := walk(t, env, program, saboteur{plugin: build(t, "../../../../cmd/kubectl-moorage")})
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}

		for _, want := range []string{
			"stream/orders is applied", "No object differs", "UpdatedExternalResource", "What to do:", "There is no Stream",
		} {
			_, after, found := strings.Cut(out, "$ kubectl moorage ")
			if !found || !strings.Contains(after, want) {
				t.Errorf("kubectl moorage does not show %q in\n%s", want, out)
			}
		}
	})

	for i, s := range saboteurs() {
		t.Run(fmt.Sprintf("%d-%s", i, s.step), func(t *testing.T) {
			out, err := walk(t, env, program, s)
			if err == nil || !strings.Contains(err.Error(), "("+s.step+")") || !strings.Contains(err.Error(), s.want) {
				t.Errorf("error %v, want one of the step, with %q\n%s", err, s.want, out)
			}
		})
	}
}

func walk(t *testing.T, env *devenv.Env, program string, s saboteur) (string, error) {
	t.Helper()

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tour-"}}
	if err := env.Client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}

	out := &strings.Builder{}
	o := Options{
		Out: out, Namespace: ns.Name, Provider: []string{program}, Poll: 300 * time.Millisecond, StepTimeout: wait.Patience(),
		Plugin: s.plugin,
	}
	o.Quiet = time.Second // a busy API server records a request late
	now := ""
	// A claim that was made false is not waited for. For all others there is plenty of time, on a slow
	// machine, too.
	o.Patience = func(what string) time.Duration {
		if now == s.step && strings.Contains(what, s.want) {
			return 3 * time.Second
		}

		return 0
	}
	o.Interfere = func(ctx context.Context, step string, done bool) error {
		if now = step; now != s.step || done != s.done {
			return nil
		}

		return s.harm(s, ctx)
	}

	walked, err := New(t.Context(), env, o)
	if err != nil {
		t.Fatal(err)
	}

	s.Tour = walked

	t.Cleanup(func() { s.clean(t) })

	err = s.Run(t.Context())

	return out.String(), err
}

// clean removes everything before the next tour.
func (s saboteur) clean(t *testing.T) {
	t.Helper()

	ctx := context.Background()

	defer s.Close()

	s.provider.Stop(stopTimeout)

	var left []client.Object

	for _, list := range []client.ObjectList{
		&v1alpha1.StreamList{}, &v1alpha1.KeyValueList{}, &v1alpha1.ObjectStoreList{}, &v1alpha1.ConsumerList{},
	} {
		if err := s.env.Client.List(ctx, list, client.InNamespace(s.o.Namespace)); err != nil {
			t.Error(err)
		}

		// The lists of the kinds contain only objects.
		_ = apimeta.EachListItem(list, func(obj runtime.Object) error {
			left = append(left, obj.(client.Object))

			return nil
		})
	}

	for _, obj := range left {
		if err := s.patch(ctx, obj, `{"metadata":{"finalizers":null}}`); err != nil {
			t.Error(err)
		}

		if err := client.IgnoreNotFound(s.env.Client.Delete(ctx, obj)); err != nil {
			t.Error(err)
		}
	}

	names, err := s.streams(ctx)
	if err != nil {
		t.Error(err)
	}

	for _, name := range names {
		if err := s.js.DeleteStream(ctx, name); err != nil {
			t.Error(err)
		}
	}
}
