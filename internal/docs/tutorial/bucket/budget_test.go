package bucket_test

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
	"github.com/moorage-dev/moorage/internal/docs/tutorial/bucket"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/objectstore"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestBudget runs the provider on a real API server and counts its requests: two until a
// bucket is Ready, none while nothing changes, one to delete it.
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
	crds := envtest.CRDInstallOptions{
		Paths: []string{"../package/crds"}, ErrorIfPathMissing: true, MaxTime: wait.Patience(),
	}
	if _, err := envtest.InstallCRDs(config, crds); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "buckets-"}}
	if err := api.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}

	store, ledger := &objectstore.Fake{Token: "secret"}, &test.Ledger{}
	start(t, config, scheme, store, ledger)

	b := newBucket(ns.Name)
	if err := api.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the bucket is Ready", func() bool {
		err := api.Get(t.Context(), client.ObjectKeyFromObject(b), b)

		return err == nil && b.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue
	})
	polls := store.Calls() + 20
	wait.Until(t, "it was polled twenty times", func() bool { return store.Calls() >= polls })
	checkRequests(t, ledger, "creation and twenty polls", 2)

	if err := api.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the bucket is deleted", func() bool {
		return api.Get(t.Context(), client.ObjectKeyFromObject(b), b) != nil
	})
	checkRequests(t, ledger, "deletion", 1)
}

// start starts the provider as main does. The ledger counts its requests to the API server.
func start(
	t *testing.T, config *rest.Config, scheme *runtime.Scheme, store *objectstore.Fake, ledger *test.Ledger,
) {
	t.Helper()
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)
	counted := rest.CopyConfig(config)
	counted.Wrap(ledger.Wrap)
	m, err := ctrl.NewManager(counted, ctrl.Options{
		Scheme: scheme, Cache: managed.CacheOptions(), Metrics: metricsserver.Options{BindAddress: "0"},
		// go test -count=2 sets up the controller twice.
		Controller:              ctrlconfig.Controller{SkipNameValidation: new(true)},
		GracefulShutdownTimeout: new(wait.Patience()),
	})
	if err != nil {
		t.Fatal(err)
	}
	// The ledger reads the log, to leave out extra reads that only a slow machine causes.
	options := controller.Options{PollInterval: 100 * time.Millisecond, Logger: ledger.Logger(nil)}
	api := objectstore.Client{URL: server.URL, Token: store.Token}
	if err := bucket.Setup(t.Context(), m, api, options); err != nil {
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
		t.Fatal("the cache does not sync")
	}
	ledger.Reset() // the requests of the start do not count
}

// checkRequests checks how many requests were sent since the last check.
func checkRequests(t *testing.T, ledger *test.Ledger, during string, limit int) {
	t.Helper()
	if sent := ledger.Objects(); len(sent) > limit {
		t.Errorf("%d requests during %s, want at most %d: %s", len(sent), during, limit, test.SummarizeRequests(sent))
	}
	ledger.Reset()
}
