package devenv_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/app"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	manifests "github.com/moorage-dev/moorage/examples/provider-nats/package"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// asProvider makes this test binary the provider, so that a test can kill it.
const asProvider = "PROVIDER_NATS_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asProvider) != "" {
		os.Exit(app.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}

	os.Exit(m.Run())
}

// A story is an environment, with the administrator's connection to NATS.
type story struct {
	*devenv.Env

	t  *testing.T
	js jetstream.JetStream
}

func newStory(t *testing.T) *story {
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

	nc, err := nats.Connect(env.NATS.URL(), nats.Timeout(wait.Patience()))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(nc.Close)

	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(wait.Patience()))
	if err != nil {
		t.Fatal(err)
	}

	return &story{Env: env, t: t, js: js}
}

func (s *story) create(objects ...client.Object) {
	s.t.Helper()

	for _, obj := range objects {
		if err := s.Client.Create(s.t.Context(), obj); err != nil {
			s.t.Fatal(err)
		}
	}
}

// await waits until the provider and the servers have reached a state.
func (s *story) await(what string, happened func(ctx context.Context) bool) {
	s.t.Helper()

	ctx := wait.Context(s.t)
	wait.Until(s.t, what, func() bool { return happened(ctx) })
}

func (s *story) awaitReady(mg client.Object, conditioned interface {
	GetCondition(commonv1.ConditionType) commonv1.Condition
}) {
	s.t.Helper()
	s.await(mg.GetName()+" is ready", func(ctx context.Context) bool {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			s.t.Fatal(err)
		}

		return conditioned.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue
	})
}

func (s *story) exists(ctx context.Context, name string) bool {
	_, err := s.js.Stream(ctx, name)

	return err == nil
}

func quick(t *testing.T) provider.Options {
	t.Helper()

	o := provider.DefaultOptions()
	o.PollWhenNotified = 0 // tests wait for polls
	o.PollInterval, o.HealthAddress, o.MetricsAddress = 100*time.Millisecond, "0", "0"
	o.Logger = testr.New(t)

	return o
}

func (s *story) run() *devenv.Provider {
	s.t.Helper()

	p, err := s.RunProvider(s.t.Context(), quick(s.t))
	if err != nil {
		s.t.Fatal(err)
	}

	return p
}

func (s *story) stop(p *devenv.Provider) {
	s.t.Helper()

	if err := p.Stop(); err != nil {
		s.t.Error(err)
	}
}

// start starts the provider as a process of its own.
func (s *story) start() *exec.Cmd {
	s.t.Helper()

	binary, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}

	cmd := exec.CommandContext(s.t.Context(), binary, "run", "--kubeconfig", s.ProviderKubeconfig,
		"--poll", "100ms", "--poll-when-notified", "0", "--health-probe-bind-address", "0", "--metrics-bind-address", "0")
	cmd.Env = append(os.Environ(), asProvider+"=1")
	cmd.Stderr = os.Stderr

	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}

	return cmd
}

func (s *story) kill(cmd *exec.Cmd) {
	s.t.Helper()

	if err := cmd.Process.Kill(); err != nil {
		s.t.Error(err)
	}

	_ = cmd.Wait() // The error is that it was killed.
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: devenv.Namespace, Name: name}
}

// TestLife: the provider, with the permissions of its role, creates, corrects and deletes; it is stopped,
// killed and started again in between.
func TestLife(t *testing.T) {
	s := newStory(t)
	orders := &v1alpha1.Stream{ObjectMeta: meta("orders")}
	sessions := &v1alpha1.KeyValue{ObjectMeta: meta("sessions")}
	secured := &v1alpha1.Stream{ObjectMeta: meta("secured")}
	secured.Spec.ProviderConfigRef.Name = "secured"

	p := s.run()
	s.create(orders, sessions,
		&corev1.Secret{ObjectMeta: meta("login"), StringData: map[string]string{"token": "nobody asks"}},
		&v1alpha1.ProviderConfig{ObjectMeta: meta("secured"), Spec: v1alpha1.ProviderConfigSpec{
			Servers: []string{s.NATS.URL()},
			Credentials: v1alpha1.Credentials{
				Source: v1alpha1.CredentialsSecret, Type: v1alpha1.CredentialsTypeToken,
				SecretRef: &v1alpha1.SecretKeyReference{Name: "login"},
			},
		}}, secured)
	s.awaitReady(orders, orders)
	s.awaitReady(sessions, sessions)
	s.awaitReady(secured, secured)
	s.stop(p)

	for _, name := range []string{"orders", "KV_sessions", "secured"} {
		if !s.exists(t.Context(), name) {
			t.Errorf("%s is ready, and does not exist in NATS", name)
		}
	}

	// Changes while no provider runs are corrected by the next.
	if err := s.js.DeleteStream(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}

	killed := s.start()
	s.await("the stream is there again", func(ctx context.Context) bool { return s.exists(ctx, "orders") })
	s.kill(killed)

	for _, obj := range []client.Object{orders, sessions, secured} {
		if err := s.Client.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}

	p = s.run()

	for _, obj := range []client.Object{orders, sessions, secured} {
		s.await(obj.GetName()+" is gone", func(ctx context.Context) bool {
			return apierrors.IsNotFound(s.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj))
		})
	}

	s.stop(p)

	for _, name := range []string{"orders", "KV_sessions", "secured"} {
		if s.exists(t.Context(), name) {
			t.Errorf("%s is deleted, and NATS still has it", name)
		}
	}
}

// TestRole: the role lets the provider get Secrets, and create and change those for applications, but
// neither list nor watch them, and change nothing besides its own kinds.
func TestRole(t *testing.T) {
	role, err := manifests.Role()
	if err != nil {
		t.Fatal(err)
	}

	allowed := map[string][]string{
		"secrets":    {"get", "create", "patch"},
		"namespaces": {"get"},
		"events":     {"create", "patch"},
		"leases":     {"create", "get", "update"},

		"customresourcedefinitions": {"get"},
	}

	for _, kind := range []string{
		"streams", "keyvalues", "objectstores", "consumers", "providerconfigs", "clusterproviderconfigs",
	} {
		allowed[kind], allowed[kind+"/status"] = []string{"get", "list", "patch", "watch"}, []string{"patch"}
	}

	for _, rule := range role.Rules {
		checkRule(t, rule, allowed)

		if slices.Contains(rule.Resources, "customresourcedefinitions") && len(rule.ResourceNames) == 0 {
			t.Error("the role lets the provider get CRDs of other kinds")
		}
	}
}

func checkRule(t *testing.T, rule rbacv1.PolicyRule, allowed map[string][]string) {
	t.Helper()

	for _, name := range rule.Resources {
		may := map[string]bool{}
		for _, verb := range allowed[name] {
			may[verb] = true
		}

		for _, verb := range rule.Verbs {
			if !may[verb] {
				t.Errorf("the role lets the provider %s %s", verb, name)
			}
		}
	}
}
