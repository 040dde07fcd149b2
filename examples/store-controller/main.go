// Command store-controller is a controller whose primary objects are in NATS: for each Foo in a bucket it maintains a
// Deployment in Kubernetes. See package foo.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/foo"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/store/natskv"
)

func main() {
	url := flag.String("nats", nats.DefaultURL, "URL of the NATS servers, separated by commas")
	replicas := flag.Int("replicas", 1, "replicas of the bucket, if it is to be made")
	namespace := flag.String("namespace", "default", "namespace of the deployments")
	flag.Parse()
	if err := run(*url, *namespace, *replicas); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(url, namespace string, replicas int) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()

	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// When the API server has been restored to an earlier state, the process ends: the next one lists everything anew. A
	// bucket that was restored is listed anew by this process.
	restores := controller.NewRestoreDetector(controller.WithRestoreLogger(logging.NewSlogLogger(slog.Default())))
	clusters.OnRestored(config, func(r clusters.Restore) { restores.Seen(r.Of(), r.Known, r.Answered) })
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	foos, err := natskv.New[*foo.Foo](ctx, js, "foos",
		natskv.Options{Kind: foo.Kind, Create: &jetstream.KeyValueConfig{Replicas: replicas}})
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(namespace))
	c := foo.NewController(foos, kube, namespace, factory.Apps().V1().Deployments().Informer())
	factory.Start(ctx.Done())
	defer factory.Shutdown()

	ended := make(chan error, 1)
	go func() {
		ended <- restores.Start(ctx)
		cancel()
	}()
	errs := make(chan error, 1)
	c.Run(2, ctx.Done(), errs)
	select {
	case err := <-errs:
		return err
	default:
		cancel()

		return <-ended
	}
}
