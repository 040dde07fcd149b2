// Command provider-objectstore reconciles Buckets with the buckets of an object store.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/internal/docs/tutorial/api/v1alpha1"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/bucket"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/objectstore"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

func main() {
	url := flag.String("endpoint", "http://127.0.0.1:8090", "URL of the object store's API")
	poll := flag.Duration("poll", time.Minute, "interval at which each bucket is compared with its object")
	flag.Parse() // controller-runtime adds --kubeconfig

	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))

	store := objectstore.Client{URL: *url, Token: os.Getenv("OBJECTSTORE_TOKEN")}
	options := controller.Options{PollInterval: *poll, Logger: logging.NewSlogLogger(log)}
	if err := run(ctrl.SetupSignalHandler(), store, options); err != nil {
		log.Error("Cannot run the provider", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, store objectstore.Client, o controller.Options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, v1alpha1.AddToScheme)
	if err := kinds.AddToScheme(scheme); err != nil {
		return err
	}
	m, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Cache: managed.CacheOptions()})
	if err != nil {
		return err
	}
	if err := bucket.Setup(ctx, m, store, o); err != nil {
		return err
	}

	return m.Start(ctx)
}
