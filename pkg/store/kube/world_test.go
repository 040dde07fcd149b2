package kube_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A world has stores of some kinds, and counts the lines that their client logs.
type world struct {
	testworld.World[*kube.Client]

	scheme  *runtime.Scheme
	volumes *memory.Store[*kube.Envelope[*volume.Volume]]

	mu  sync.Mutex
	log []string
}

func (w *world) logged() int {
	w.mu.Lock()
	defer w.mu.Unlock()

	return len(w.log)
}

func (w *world) options() kube.ClientOption {
	return kube.WithLogger(funcr.New(func(_, line string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, line)
	}, funcr.Options{}))
}

func (w *world) kinds() []kube.Kind {
	return []kube.Kind{
		kube.Serve(w.volumes),
		kube.Serve(memory.New[*kube.Envelope[*corev1.ConfigMap]]("configmaps")),
		kube.Serve(memory.New[*kube.Envelope[*corev1.Namespace]]("namespaces"), kube.ClusterScoped()),
		kube.Serve(memory.New[*kube.Envelope[*eventsv1.Event]]("events")),
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		World: testworld.New[*kube.Client](t, nil), scheme: runtime.NewScheme(),
		volumes: memory.New[*kube.Envelope[*volume.Volume]]("volumes", memory.WithMaxValue(16<<10)),
	}
	w.Must(errors.Join(scheme.AddToScheme(w.scheme), volume.AddToScheme(w.scheme)))
	var err error
	w.API, err = kube.NewClient(w.scheme, w.kinds(), w.options())
	w.Must(err)

	return w
}

func newVolume(name string) *volume.Volume {
	return &volume.Volume{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       volume.Spec{SizeGiB: 1},
	}
}

// nextEvent returns the next event of a watch as a line.
func nextEvent(t *testing.T, w watch.Interface) string {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		switch o := e.Object.(type) {
		case *metav1.Status:
			return fmt.Sprintf("%s %s", e.Type, o.Reason)
		case client.Object:
			return fmt.Sprintf("%s %s %v", e.Type, o.GetName(), o.GetLabels())
		}

		return fmt.Sprintf("closed: %v", !ok)
	case <-wait.Context(t).Done():
		t.Fatal("no event")

		return ""
	}
}
