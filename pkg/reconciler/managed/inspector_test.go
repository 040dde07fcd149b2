package managed_test

import (
	"context"
	stderrors "errors"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// inspectedChanges are the names of the objects of the recorded changes.
type inspectedChanges struct {
	mu    sync.Mutex
	names []string
}

func (c *inspectedChanges) Record(_ context.Context, e changelog.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, string(e.Operation)+" "+e.Name)

	return nil
}

func (c *inspectedChanges) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return strings.Join(c.names, ", ")
}

// halfBroken is a client to which the volume with the name bad leads to an error.
func halfBroken() managed.ExternalConnecter {
	var exists sync.Map
	fns := managed.ExternalClientFns{
		ObserveFn: func(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			if mg.GetName() == "bad" {
				return managed.ExternalObservation{}, errors.New("no route to host")
			}
			_, ok := exists.Load(mg.GetName())
			mg.SetConditions(commonv1.Available())

			return managed.ExternalObservation{ResourceExists: ok, ResourceUpToDate: true}, nil
		},
		CreateFn: func(_ context.Context, mg resource.Managed) error {
			exists.Store(mg.GetName(), true)

			return nil
		},
	}

	return managed.ExternalConnectorFn(func(context.Context, resource.Managed) (managed.ExternalClient, error) {
		return fns, nil
	})
}

// TestInspector: an Inspector has the objects, the queue and the decisions of a kind while its controller runs.
func TestInspector(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	scheme := runtime.NewScheme()
	must(stderrors.Join(corev1.AddToScheme(scheme), volume.AddToScheme(scheme)))
	c, err := kube.NewCluster(scheme, kube.Options{Cache: managed.CacheOptions()},
		kube.Serve(memory.New[*kube.Envelope[*volume.Volume]]("volumes")))
	must(err)
	m, err := kube.NewManager(c, manager.Options{
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	must(err)
	own, changes := &inspectedChanges{}, &inspectedChanges{}
	inspector := managed.NewInspector(changes)
	must(managed.Setup(m, volume.Kind, controller.Options{}, managed.WithExternalConnecter(halfBroken()),
		managed.WithDeterministicExternalName(true), managed.WithInspector(inspector), managed.WithChangeLog(own)))

	kinds := inspector.Kinds()
	if len(kinds) != 1 || resource.ManagedKind(kinds[0].Kind()) != volume.Kind {
		t.Fatalf("kinds: %v", kinds)
	}
	kind := kinds[0]
	if _, err := kind.Objects(t.Context()); !errors.Is(err, managed.ErrNotRunning) {
		t.Errorf("objects before the start: %v", err)
	}
	if _, _, ok := kind.Queue(); ok {
		t.Error("there is a queue before the start")
	}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	for _, name := range []string{"good", "bad"} {
		v := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		v.Spec.SizeGiB = 1
		must(c.GetClient().Create(t.Context(), v))
	}
	byName := func() map[string]resource.Managed {
		objects, err := kind.Objects(t.Context())
		if err != nil {
			return nil // the controller starts
		}
		all := map[string]resource.Managed{}
		for _, mg := range objects {
			all[mg.GetName()] = mg
		}

		return all
	}
	wait.Until(t, "one object is well, and the other is not", func() bool {
		all := byName()
		if len(all) != 2 {
			return false
		}
		_, good := kind.LastPass(all["good"])
		bad, noted := kind.LastPass(all["bad"])

		return !good && noted && bad.Action == "Observe" && bad.Because != "" && !bad.At.IsZero() &&
			all["good"].GetCondition("Ready").Status == metav1.ConditionTrue
	})
	wait.Until(t, "the next reconcile of both is known", func() bool {
		all := byName()
		_, good := kind.NextReconcile(all["good"])
		_, bad := kind.NextReconcile(all["bad"])
		classes, _, ok := kind.Queue()

		return good && bad && ok && len(classes) == 4
	})
	if changes.all() != "Create good" || own.all() != "Create good" {
		t.Errorf("changes: %q for the Inspector, %q for the change log", changes.all(), own.all())
	}

	stop()
	must(<-ended)
	wait.Until(t, "nothing is known after the end", func() bool {
		_, err := kind.Objects(t.Context())

		return errors.Is(err, managed.ErrNotRunning)
	})
}
