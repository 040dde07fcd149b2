package trials

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

func TestMain(m *testing.M) {
	// The default handler of client-go's errors sleeps until a time of another bubble, and forever
	// if that has ended.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

const (
	volumesPath = "/apis/example.moorage.dev/v1/volumes"
	volumePath  = "/apis/example.moorage.dev/v1/namespaces/default/volumes/data"
)

// A plane is a control plane over HTTP, as a transport, so that no network is needed. It has
// the verbs that a manager needs for one kind and a lease: get, list, watch, create, replace
// and merge patches. It can be restored to an earlier state, its versions included.
type plane struct {
	mu      sync.Mutex
	last    int
	objects map[string]map[string]any // by path
	watches map[*watch]bool
}

// A watch is an open watch.
type watch struct {
	since int // events of versions up to this one are not sent
	to    *io.PipeWriter
	send  chan []byte
}

func newPlane(last int) *plane {
	return &plane{last: last, objects: map[string]map[string]any{}, watches: map[*watch]bool{}}
}

func (p *plane) version() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.last
}

// put stores the volume as another client does.
func (p *plane) put(object map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.store(volumePath, object)
}

// store gives an object the next version, and sends an event. A change of the spec is a new
// generation.
func (p *plane) store(path string, object map[string]any) map[string]any {
	p.last++
	kind, before := "ADDED", p.objects[path]
	metadata := maps.Clone(object["metadata"].(map[string]any))
	metadata["resourceVersion"] = strconv.Itoa(p.last)
	if before != nil {
		kind = "MODIFIED"
		if fmt.Sprint(before["spec"]) != fmt.Sprint(object["spec"]) {
			number, _ := strconv.Atoi(fmt.Sprint(before["metadata"].(map[string]any)["generation"]))
			metadata["generation"] = number + 1
		}
	}
	object = maps.Clone(object)
	object["metadata"] = metadata
	p.objects[path] = object
	if strings.Contains(path, "/volumes/") {
		line, _ := json.Marshal(map[string]any{"type": kind, "object": object})
		for w := range p.watches {
			if p.last > w.since {
				w.send <- append(line, '\n')
			}
		}
	}

	return object
}

// manifest returns the object that a user creates.
func manifest() map[string]any {
	return map[string]any{
		"apiVersion": "example.moorage.dev/v1", "kind": "Volume", "spec": map[string]any{"sizeGiB": 1},
		"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name, "uid": "uid-1", "generation": 1},
	}
}

// volume returns the object.
func (p *plane) volume(t *testing.T) *volume.Volume {
	t.Helper()
	data, err := json.Marshal(p.backup()[volumePath])
	if err != nil {
		t.Fatal(err)
	}
	v := &volume.Volume{}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}

	return v
}

// resize changes the spec, as a user does.
func (p *plane) resize(gib int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := mergepatch.Apply(p.objects[volumePath], map[string]any{"spec": map[string]any{"sizeGiB": gib}})
	p.store(volumePath, changed)
}

// backup returns all stored objects.
func (p *plane) backup() map[string]map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()

	return maps.Clone(p.objects)
}

// restore replaces all objects by a backup. Watches end, and those that begin with a version of
// the other history wait for it.
func (p *plane) restore(objects map[string]map[string]any, version int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects, p.last = maps.Clone(objects), version
	for path, o := range p.objects {
		o = maps.Clone(o)
		metadata := maps.Clone(o["metadata"].(map[string]any))
		if had, _ := strconv.Atoi(fmt.Sprint(metadata["resourceVersion"])); had > version {
			metadata["resourceVersion"] = strconv.Itoa(version)
		}
		o["metadata"] = metadata
		p.objects[path] = o
	}
	for w := range p.watches {
		close(w.send)
		delete(p.watches, w)
	}
}

// RoundTrip answers a request.
func (p *plane) RoundTrip(r *http.Request) (*http.Response, error) {
	body := map[string]any{}
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if len(data) > 0 {
			if err := json.Unmarshal(data, &body); err != nil {
				return nil, err
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && query.Get("watch") != "":
		if query.Get("sendInitialEvents") == "true" {
			return refuse(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		}

		return p.watch(r.Context(), query.Get("resourceVersion"))
	case r.Method == http.MethodGet && r.URL.Path == volumesPath:
		items := []any{}
		if o := p.objects[volumePath]; o != nil {
			items = append(items, o)
		}

		return answer(map[string]any{
			"apiVersion": "example.moorage.dev/v1", "kind": "VolumeList", "items": items,
			"metadata": map[string]any{"resourceVersion": strconv.Itoa(p.last)},
		})
	case r.Method == http.MethodPost:
		name := fmt.Sprint(body["metadata"].(map[string]any)["name"])

		return answer(p.store(r.URL.Path+"/"+name, body))
	}
	path, status := strings.CutSuffix(r.URL.Path, "/status")
	now := p.objects[path]
	if now == nil {
		return refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
	}
	wants, _ := body["metadata"].(map[string]any)
	if version := wants["resourceVersion"]; version != nil &&
		version != now["metadata"].(map[string]any)["resourceVersion"] {
		return refuse(http.StatusConflict, metav1.StatusReasonConflict)
	}
	switch r.Method {
	case http.MethodPut:
		return answer(p.store(path, body))
	case http.MethodPatch:
		part := maps.Clone(body)
		if !status {
			delete(part, "status")
		} else {
			part = map[string]any{"status": body["status"]}
		}
		changed := mergepatch.Apply(now, part)

		return answer(p.store(path, changed))
	default:
		return answer(now)
	}
}

// watch opens a watch.
func (p *plane) watch(ctx context.Context, version string) (*http.Response, error) {
	since, err := strconv.Atoi(version)
	if err != nil {
		return nil, err
	}
	from, to := io.Pipe()
	w := &watch{since: since, to: to, send: make(chan []byte, 100)}
	p.watches[w] = true
	go func() {
		defer to.Close()
		bookmarks := time.NewTicker(30 * time.Second)
		defer bookmarks.Stop()
		for {
			select {
			case <-bookmarks.C:
				p.mu.Lock()
				now, open := p.last, p.watches[w]
				p.mu.Unlock()
				if open && now > since {
					line, _ := json.Marshal(map[string]any{"type": "BOOKMARK", "object": map[string]any{
						"apiVersion": "example.moorage.dev/v1", "kind": "Volume",
						"metadata": map[string]any{"resourceVersion": strconv.Itoa(now)},
					}})
					if _, err := to.Write(append(line, '\n')); err != nil {
						return
					}
				}
			case <-ctx.Done():
				p.mu.Lock()
				delete(p.watches, w)
				p.mu.Unlock()

				return
			case line, open := <-w.send:
				if !open {
					return
				}
				if _, err := to.Write(line); err != nil {
					return
				}
			}
		}
	}()

	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: from,
	}, nil
}

func answer(body any) (*http.Response, error) { return respond(http.StatusOK, body) }

func refuse(code int, reason metav1.StatusReason) (*http.Response, error) {
	return respond(code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code),
		Reason: reason, Message: string(reason),
	})
}

func respond(code int, body any) (*http.Response, error) {
	data, err := json.Marshal(body)

	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(data))),
	}, err
}

func (p *plane) config() *rest.Config {
	return &rest.Config{
		Host: "https://api.example", Transport: p, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}
}

// lock returns that of a leader election, as a provider makes it.
func (p *plane) lock(t *testing.T, renewDeadline time.Duration, o ...controller.LeaseOption) *controller.Lease {
	t.Helper()
	leases, err := coordinationclient.NewForConfig(p.config())
	if err != nil {
		t.Fatal(err)
	}

	return controller.NewLease(&resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: "platform", Name: "provider"}, Client: leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: "one"},
	}, renewDeadline, o...)
}

// A provider is a process with a manager, which is started again when it ends.
type provider struct {
	t      *testing.T
	plane  *plane
	cloud  *volume.Cloud
	starts atomic.Int32

	options []managed.ReconcilerOption
}

// runs starts the provider, and returns a function that stops it.
func (p *provider) runs() (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			p.starts.Add(1)
			if err := p.manager().Start(ctx); err != nil {
				p.t.Logf("the process has ended: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()

	return func() {
		cancel()
		<-ended
	}
}

func (p *provider) manager() manager.Manager {
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{volume.GroupVersion})
	mapper.Add(volume.GroupVersion.WithKind("Volume"), apimeta.RESTScopeNamespace)
	duration, deadline, retry, grace := 15*time.Second, 10*time.Second, 2*time.Second, time.Second
	restores := controller.NewRestoreDetector()
	lease := p.plane.lock(p.t, deadline, controller.WithRestoreDetector(restores))
	m, err := manager.New(p.plane.config(), manager.Options{
		Scheme: newScheme(p.t), Logger: logr.Discard(),
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) { return mapper, nil },
		LeaderElection: true, LeaderElectionResourceLockInterface: lease,
		LeaseDuration: &duration, RenewDeadline: &deadline, RetryPeriod: &retry, GracefulShutdownTimeout: &grace,
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	if err == nil {
		err = m.Add(restores)
	}
	if err == nil {
		err = managed.Setup(m, volume.Kind, controller.Options{PollInterval: 5 * time.Second,
			MaxConcurrentReconciles: 1},
			append([]managed.ReconcilerOption{
				managed.WithExternalConnecter(p.cloud), managed.WithRecorder(event.NewNopRecorder()),
				managed.WithLeaseDeadline(lease.Deadline),
				managed.WithRestoreDetector(restores),
			}, p.options...)...)
	}
	if err != nil {
		panic(err) // not the goroutine of the test
	}

	return m
}

// has compares the size of the only external resource.
func (p *provider) has(what string, gib int64) {
	p.t.Helper()
	disks := p.cloud.Disks()
	if len(disks) != 1 || disks[0].SizeGiB != gib {
		p.t.Errorf("%s is not carried out within two minutes, with %d starts of the process: want one disk of %d GiB, got "+
			"%+v", what, p.starts.Load(), gib, disks)
	}
}
