package plugin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/hook"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// settings is a syncer as plugins write it: with untyped objects, type assertions and the
// embedded translator.
type settings struct {
	translator.NamespacedTranslator
}

func newSettings(ctx *synccontext.RegisterContext) syncer.Base {
	return &settings{translator.NewNamespacedTranslator(ctx, "settings", &corev1.ConfigMap{})}
}

func (s *settings) SyncDown(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error) {
	return s.SyncDownCreate(ctx, vObj, s.TranslateMetadata(vObj).(*corev1.ConfigMap))
}

func (s *settings) Sync(ctx *synccontext.SyncContext, pObj, vObj client.Object) (ctrl.Result, error) {
	updated := pObj.DeepCopyObject().(*corev1.ConfigMap)
	updated.Data = vObj.(*corev1.ConfigMap).Data
	return s.SyncDownUpdate(ctx, vObj, updated)
}

// pods is a hook.
type pods struct{}

var _ hook.ClientHook = pods{}

func (pods) Name() string { return "pods" }

func (pods) Resource() client.Object { return &corev1.Pod{} }

func (pods) MutateGetVirtual(_ context.Context, obj client.Object) (client.Object, error) {
	return obj, nil
}

// cluster starts an API server.
func cluster(t *testing.T) (kubeconfig string, api client.Client) {
	t.Helper()
	c, err := devcluster.Start(t.Context(), devcluster.Options{Own: true, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	api, err = client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Kubeconfig, api
}

// TestMain sets the logger before anything reads it, and runs the tests.
func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// TestPlugin runs the main function of a plugin between two clusters that the environment
// names.
func TestPlugin(t *testing.T) {
	if err := Register(&settings{fakeNames{}}); !errors.Is(err, ErrNotInitialized) {
		t.Errorf("registered before it is initialized: %v", err)
	}
	if err := Start(); !errors.Is(err, ErrNotInitialized) {
		t.Errorf("started before it is initialized: %v", err)
	}
	tenantFile, tenant := cluster(t)
	hostFile, host := cluster(t)
	if err := host.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenants"}}); err != nil {
		t.Fatal(err)
	}
	for variable, value := range map[string]string{
		nameVariable: "red", virtualVariable: tenantFile, hostVariable: hostFile, targetVariable: "tenants",
	} {
		t.Setenv(variable, value)
	}
	suffix, owner := translate.Suffix, translate.Owner
	t.Cleanup(func() { translate.Suffix, translate.Owner = suffix, owner })

	ctx := MustInit()
	MustRegister(newSettings(ctx))
	if err := Register(pods{}); !errors.Is(err, ErrHook) || !strings.Contains(err.Error(), `"pods"`) {
		t.Errorf("a hook was registered: %v", err)
	}
	if _, err := Init(); !errors.Is(err, ErrInitialized) {
		t.Errorf("initialized again: %v", err)
	}
	if translate.Suffix != "red" || ctx.VirtualManager.GetScheme() != Scheme {
		t.Errorf("the suffix is %q, or the scheme another one", translate.Suffix)
	}
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		MustStart()
	}()
	down := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "colours"}, Data: map[string]string{"sky": "blue"},
	}
	if err := tenant.Create(t.Context(), down); err != nil {
		t.Fatal(err)
	}
	image := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: translate.PhysicalName("colours", "default")},
	}
	wait.Until(t, "the object is on the host", func() bool {
		return host.Get(t.Context(), client.ObjectKeyFromObject(image), image) == nil
	})
	if diff := cmp.Diff(down.Data, image.Data); diff != "" {
		t.Error(diff)
	}
	instance.stop() // like a signal
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// fakeNames has only a name.
type fakeNames struct {
	translator.NamespacedTranslator
}

func (fakeNames) Name() string { return "settings" }

// TestEnvironment verifies that options take precedence over the environment, and that
// errors name the missing variable.
func TestEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := "apiVersion: v1\nkind: Config\ncurrent-context: c\n" +
		"contexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: https://one.example}}]\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	given := &rest.Config{Host: "https://two.example"}
	cases := map[string]struct {
		reason   string
		env      map[string]string
		o        Options
		virtual  string // host
		physical string
		name     string
		want     string // of the error
	}{
		"All": {
			"All settings are in the environment.",
			map[string]string{nameVariable: "red", virtualVariable: file, hostVariable: file}, Options{}, "https://one.example",
			"https://one.example", "red", "",
		},
		"Options": {
			"Options take precedence.", map[string]string{nameVariable: "red", virtualVariable: file},
			Options{Name: "blue", Virtual: given, Physical: given}, given.Host, given.Host, "blue", "",
		},
		"Pod": {
			"Without a host, the default is the cluster of the pod.",
			map[string]string{nameVariable: "red", virtualVariable: file}, Options{}, "https://one.example", "", "red", "",
		},
		"Nameless": {
			"The name is missing.", map[string]string{virtualVariable: file}, Options{}, "", "", "", "VCLUSTER_NAME",
		},
		"Nowhere": {
			"The virtual cluster is missing.", map[string]string{nameVariable: "red"}, Options{}, "", "", "",
			"VCLUSTER_KUBECONFIG",
		},
		"NoFile": {
			"The file does not exist.", map[string]string{nameVariable: "red", virtualVariable: file + "x"}, Options{}, "", "",
			"", "cannot read the kubeconfig of VCLUSTER_KUBECONFIG",
		},
		"NoHost": {
			"The file of the host does not exist.",
			map[string]string{nameVariable: "red", virtualVariable: file, hostVariable: file + "x"}, Options{}, "", "", "",
			"cannot read the kubeconfig of HOST_KUBECONFIG",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{
				nameVariable, virtualVariable, hostVariable, targetVariable, currentVariable, serviceVariable,
			} {
				t.Setenv(variable, tc.env[variable])
			}
			o, err := fromEnvironment(tc.o)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.want)
				}
				return
			}
			host := ""
			if o.Physical != nil {
				host = o.Physical.Host
			}
			if err != nil || o.Virtual.Host != tc.virtual || host != tc.physical || o.Name != tc.name || o.Scheme != Scheme {
				t.Errorf("%s\ngot %v, %q, %q: %v", tc.reason, o.Virtual, host, o.Name, err)
			}
		})
	}
}
