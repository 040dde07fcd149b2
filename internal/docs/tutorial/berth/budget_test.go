package berth_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/api/v1alpha1"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/berth"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/harbour"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestBudget runs the provider on a real API server and counts what it sends:
// two requests until a berth is Ready, none while nothing happens, one when it
// goes.
func TestBudget(t *testing.T) {
	cluster := devcluster.Shared(t)
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, v1alpha1.AddToScheme)
	if err := kinds.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	crds := envtest.CRDInstallOptions{Paths: []string{"../package/crds"}, ErrorIfPathMissing: true, MaxTime: wait.Patience()}
	if _, err := envtest.InstallCRDs(config, crds); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "harbour-"}}
	if err := api.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}

	office, ledger := &harbour.Fake{Token: "secret"}, &test.Ledger{}
	start(t, config, scheme, office, ledger)

	b := newBerth(ns.Name)
	if err := api.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the berth is Ready", func() bool {
		return api.Get(t.Context(), client.ObjectKeyFromObject(b), b) == nil && b.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue
	})
	polls := office.Calls() + 20
	wait.Until(t, "it was looked at twenty times", func() bool { return office.Calls() >= polls })
	spent(t, ledger, "from creation to Ready, and twenty polls", 2)

	if err := api.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the berth is gone", func() bool { return api.Get(t.Context(), client.ObjectKeyFromObject(b), b) != nil })
	spent(t, ledger, "deletion", 1)
}

// start starts the provider as main does, its requests counted.
func start(t *testing.T, config *rest.Config, scheme *runtime.Scheme, office *harbour.Fake, ledger *test.Ledger) {
	t.Helper()
	server := httptest.NewServer(office)
	t.Cleanup(server.Close)
	counted := rest.CopyConfig(config)
	counted.Wrap(ledger.Wrap)
	m, err := ctrl.NewManager(counted, ctrl.Options{
		Scheme: scheme, Cache: managed.CacheOptions(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller:              ctrlconfig.Controller{SkipNameValidation: new(true)}, // go test -count=2 makes it twice
		GracefulShutdownTimeout: new(wait.Patience()),
	})
	if err != nil {
		t.Fatal(err)
	}
	// What the ledger hears excuses the reads that a slow machine causes.
	options := controller.Options{PollInterval: 100 * time.Millisecond, Logger: ledger.Logger(nil)}
	if err := berth.Setup(t.Context(), m, harbour.Client{URL: server.URL, Token: office.Token}, options); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	if !m.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not come up")
	}
	ledger.Reset() // what came before is the cost of starting
}

func spent(t *testing.T, ledger *test.Ledger, on string, most int) {
	t.Helper()
	if sent := ledger.Objects(); len(sent) > most {
		t.Errorf("%d requests on %s, want %d at most: %s", len(sent), on, most, test.SummarizeRequests(sent))
	}
	ledger.Reset()
}
