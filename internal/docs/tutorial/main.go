// Command provider-harbour keeps Berths and the berths of a harbour in step.
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
	"github.com/moorage-dev/moorage/internal/docs/tutorial/berth"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/harbour"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

func main() {
	url := flag.String("harbour", "http://127.0.0.1:8090", "where the harbour office is")
	poll := flag.Duration("poll", time.Minute, "how often each berth is compared with its object")
	flag.Parse() // --kubeconfig is a flag of controller-runtime

	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))

	office := harbour.Client{URL: *url, Token: os.Getenv("HARBOUR_TOKEN")}
	options := controller.Options{PollInterval: *poll, Logger: logging.NewSlogLogger(log)}
	if err := run(ctrl.SetupSignalHandler(), office, options); err != nil {
		log.Error("The provider cannot go on", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, office harbour.Client, o controller.Options) error {
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
	if err := berth.Setup(ctx, m, office, o); err != nil {
		return err
	}

	return m.Start(ctx)
}
