package statuspage

import (
	"context"
	stderrors "errors"
	"io"
	"net/http"
	"net/http/cookiejar"
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
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// disks is an external system in which the volume with the name bad cannot be observed.
func disks() managed.ExternalConnecter {
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

// TestPageOfAManager: one call in main serves the page of a running provider, at the address and with the link that the
// log has.
func TestPageOfAManager(t *testing.T) {
	scheme := runtime.NewScheme()
	must(t, stderrors.Join(corev1.AddToScheme(scheme), volume.AddToScheme(scheme)))
	c, err := kube.NewCluster(scheme, kube.Options{Cache: managed.CacheOptions()},
		kube.Serve(memory.New[*kube.Envelope[*volume.Volume]]("volumes")))
	must(t, err)
	m, err := kube.NewManager(c, manager.Options{
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	must(t, err)
	log := &recordedLog{Logger: logging.NewNopLogger()}
	page, err := Add(m, Options{Address: "127.0.0.1:0", Provider: "provider-disks", Logger: log})
	must(t, err)
	must(t, managed.Setup(m, volume.Kind, controller.Options{}, managed.WithExternalConnecter(disks()),
		managed.WithDeterministicExternalName(true), page))
	for _, name := range []string{"good", "bad"} {
		v := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		v.Spec.SizeGiB = 1
		must(t, c.GetClient().Create(t.Context(), v))
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	defer func() {
		stop()
		must(t, <-ended)
	}()

	var link string
	wait.Until(t, "the link", func() bool {
		if links := log.all(); len(links) > 0 {
			link = links[0]
		}

		return link != ""
	})
	jar, err := cookiejar.New(nil)
	must(t, err)
	browser := &http.Client{Jar: jar}
	get := func(url string) string {
		r, err := http.NewRequestWithContext(wait.Context(t), http.MethodGet, url, http.NoBody)
		must(t, err)
		answer, err := browser.Do(r)
		must(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		must(t, err)

		return string(body)
	}
	origin, _, _ := strings.Cut(link, "/login")
	if text := get(origin); !strings.Contains(text, "Not signed in") {
		t.Fatalf("without the link: %s", text)
	}
	if text := get(link); !strings.Contains(text, "Signed in") {
		t.Fatalf("the link: %s", text)
	}
	wait.Until(t, "the object that is not well, and the change of the other", func() bool {
		text := get(origin)

		return strings.Contains(text, `aria-label="1 Failing"`) && strings.Contains(text, `aria-label="1 Well"`) &&
			strings.Contains(text, "no route to host") && strings.Contains(text, "Observe: ") &&
			strings.Contains(text, "<td>Create</td>") && strings.Contains(text, "provider-disks")
	})
}
