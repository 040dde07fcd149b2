package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

const (
	// discoveryPeriod is how soon the garbage collector sees a new kind. In a
	// real cluster it is 30 seconds, longer than a test would wait.
	discoveryPeriod = 2 * time.Second

	namespaceResync = 5 * time.Minute
	workers         = 5
)

// runControllers deletes the content of deleted namespaces and the objects
// whose owners are gone, until the context ends.
func runControllers(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	typed := informers.NewSharedInformerFactory(client, namespaceResync)
	untyped := metadatainformer.NewSharedInformerFactory(meta, namespaceResync)
	started := make(chan struct{})

	namespaces := namespace.NewNamespaceController(ctx, client, meta,
		client.Discovery().ServerPreferredNamespacedResources,
		typed.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)
	garbage, err := garbagecollector.NewGarbageCollector(ctx, client, meta,
		restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(typed, untyped), started)
	if err != nil {
		return fmt.Errorf("cannot make the garbage collector: %w", err)
	}

	var running sync.WaitGroup
	running.Go(func() { namespaces.Run(ctx, workers) })
	running.Go(func() { garbage.Run(ctx, workers, readyTimeout) })
	running.Go(func() { garbage.Sync(ctx, client.Discovery(), discoveryPeriod) })
	typed.Start(ctx.Done())
	untyped.Start(ctx.Done())
	close(started)

	running.Wait()
	typed.Shutdown()
	untyped.Shutdown()
	return nil
}
