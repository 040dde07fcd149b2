package bucket_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"

	"example.org/provider-cloud/apis/v1alpha1"
	"example.org/provider-cloud/internal/api"
	"example.org/provider-cloud/internal/connect"
	"example.org/provider-cloud/internal/controller/bucket"
)

// minutes of a story, in each of which a provider is scraped.
const minutes = 180

// TestStory prints what a provider shows in three hours, minute by minute, as promtool
// writes it. The reconciler, the client and the API in memory are those of the provider;
// time is that of a bubble, the network is a pipe, and the queue is one goroutine for
// each object.
//
//	20:30  four buckets are made, for which the API takes 40 seconds
//	40:30  somebody else changes one of them, and an update takes 2 seconds
//	60:30  the API answers all with 503, for ten minutes
//	90:30  one of them is deleted, for which the API takes 20 seconds
//	130:45 the provider is started again
func TestStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t)
		at := func(minute, second int) {
			time.Sleep(time.Until(s.begun.Add(time.Duration(minute)*time.Minute + time.Duration(second)*time.Second)))
		}

		go func() {
			at(20, 30)
			for n := range 4 {
				s.make(fmt.Sprintf("bucket-%d", n))
			}
			at(40, 30)
			s.api.Put("buckets", s.changed("bucket-0"))
			at(60, 30)
			s.api.Break(true)
			at(70, 30)
			s.api.Break(false)
			at(90, 30)
			s.remove("bucket-3")
			at(130, 45)
			s.restart()
		}()

		for minute := range minutes + 1 {
			at(minute, 0)
			synctest.Wait()
			s.scrape(minute)
		}

		s.end()
		s.print()
	})
}

// A story is a provider, what it looks after, and what was seen of it.
type story struct {
	t       *testing.T
	begun   time.Time
	kube    client.Client
	api     *api.Fake
	client  api.Client
	cancel  func()
	objects sync.WaitGroup
	events  map[string]chan struct{} // by the name of the object that they are about

	process atomic.Pointer[process]
	shown   map[string][]string // values by series, one for each minute
}

// A process is the provider from one start to the next.
type process struct {
	*managed.Reconciler
	registry *prometheus.Registry
	ended    chan struct{}
}

func begin(t *testing.T) *story {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}

	// The deletion guard asks for the definition of the kind.
	definition := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	scheme.AddKnownTypeWithName(definition, &metav1.PartialObjectMetadata{})

	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(definition, meta.RESTScopeRoot)
	mapper.Add(v1alpha1.GroupVersion().WithKind(v1alpha1.BucketKind), meta.RESTScopeNamespace)

	kube := ctrlfake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithStatusSubresource(&v1alpha1.Bucket{}).Build()
	s := &story{t: t, begun: time.Now(), kube: kube, api: &api.Fake{Token: "let-me-in"}, events: map[string]chan struct{}{}, shown: map[string][]string{}}
	s.connect()
	s.start()

	return s
}

// connect lets the client reach the API by pipes, which a bubble knows to wait for.
func (s *story) connect() {
	calls := pipes(make(chan net.Conn))
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(map[string]time.Duration{
			http.MethodGet: 80 * time.Millisecond, http.MethodPost: 40 * time.Second,
			http.MethodPatch: 2 * time.Second, http.MethodDelete: 20 * time.Second,
		}[r.Method])
		s.api.ServeHTTP(w, r)
	})}
	go server.Serve(calls)

	transport := http.DefaultTransport.(*http.Transport)
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		calls <- there

		return here, nil
	}

	s.client = api.New("http://api", "let-me-in")
	s.cancel = func() {
		s.client.Close()
		server.Close()
	}
}

// Acquire returns the connection to the API.
func (s *story) Acquire(context.Context, resource.Managed) (connect.Connection, error) {
	return connect.Connection{Client: s.client, Release: func() {}}, nil
}

// start starts a process.
func (s *story) start() {
	registry := prometheus.NewRegistry()
	s.process.Store(&process{
		Reconciler: managed.NewReconciler(&fake.Manager{Client: s.kube, Scheme: s.kube.Scheme()}, bucket.Kind(), append(bucket.Options(),
			managed.WithTypedExternalConnector(bucket.NewConnector(s, "cluster")),
			managed.WithMetricsRegisterer(registry),
			managed.WithPollJitterHook(0),
			managed.WithRandom(func() float64 { return 0.5 }))...),
		registry: registry,
		ended:    make(chan struct{}),
	})
}

// restart ends the process, and starts another one.
func (s *story) restart() {
	was := s.process.Load()
	s.start()
	close(was.ended)
}

// end ends the process for good.
func (s *story) end() {
	was := s.process.Swap(nil)
	close(was.ended)
	s.objects.Wait()
	s.cancel()
}

// make makes an object, and looks after it.
func (s *story) make(name string) {
	mg := &v1alpha1.Bucket{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), CreationTimestamp: metav1.Now()}}
	mg.Spec.ForProvider.Size = 1
	mg.Spec.ManagementPolicies = commonv1.ManagementPolicies{"*"}
	s.must(s.kube.Create(s.t.Context(), mg))

	events := make(chan struct{})
	s.events[name] = events
	s.objects.Go(func() { s.look(client.ObjectKeyFromObject(mg), events) })
}

// remove deletes an object.
func (s *story) remove(name string) {
	s.must(s.kube.Delete(s.t.Context(), &v1alpha1.Bucket{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}))
	s.events[name] <- struct{}{}
}

// changed returns what stands for an object, as somebody else wants it.
func (s *story) changed(name string) api.Thing {
	thing := s.api.Things("buckets")[name]
	thing["size"] = 7

	return thing
}

// look looks after an object as long as there is one: when the reconciler says so, a
// second after a failure, two after the next, and so on up to a minute, and when its
// user changes it or a process begins.
func (s *story) look(key types.NamespacedName, events <-chan struct{}) {
	failures := 0

	for {
		p := s.process.Load()
		if p == nil || s.kube.Get(s.t.Context(), key, &v1alpha1.Bucket{}) != nil {
			return
		}

		result, err := p.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: key})
		wait := result.RequeueAfter

		if err != nil || result.Requeue {
			wait = min(time.Second<<failures, time.Minute)
			failures = min(failures+1, 6)
		} else {
			failures = 0
		}

		select {
		case <-time.After(wait):
		case <-events:
		case <-p.ended:
		}
	}
}

// scrape notes what is shown. Sums are left out: in what order they are added up is
// seen in their last digits.
func (s *story) scrape(minute int) {
	families, err := s.process.Load().registry.Gather()
	s.must(err)

	for _, f := range families {
		for _, m := range f.GetMetric() {
			note := func(name string, value float64, more ...string) {
				var labels []string
				for _, l := range m.GetLabel() {
					labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
				}

				series := f.GetName() + name + "{" + strings.Join(append(labels, more...), ",") + "}"
				for len(s.shown[series]) < minute {
					s.shown[series] = append(s.shown[series], missing(s.shown[series]))
				}

				s.shown[series] = append(s.shown[series], strconv.FormatFloat(value, 'g', -1, 64))
			}

			switch f.GetType() {
			case dto.MetricType_HISTOGRAM:
				for _, b := range m.GetHistogram().GetBucket() {
					note("_bucket", float64(b.GetCumulativeCount()), fmt.Sprintf("le=%q", strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64)))
				}

				note("_bucket", float64(m.GetHistogram().GetSampleCount()), `le="+Inf"`)
				note("_count", float64(m.GetHistogram().GetSampleCount()))
			case dto.MetricType_GAUGE:
				note("", m.GetGauge().GetValue())
			default:
				note("", m.GetCounter().GetValue())
			}
		}
	}
}

// missing returns what Prometheus notes of a series that is not shown.
func missing(before []string) string {
	if len(before) == 0 || before[len(before)-1] == "_" || before[len(before)-1] == "stale" {
		return "_"
	}

	return "stale"
}

// print prints all series.
func (s *story) print() {
	for _, series := range slices.Sorted(maps.Keys(s.shown)) {
		values := s.shown[series]
		for len(values) <= minutes {
			values = append(values, missing(values))
		}

		fmt.Println(series, sequence(values))
	}
}

// sequence writes values as promtool does: 0x2 1+2x3 is 0 0 0 1 3 5 7.
func sequence(values []string) string {
	var out []string

	for i := 0; i < len(values); {
		n, by := run(values[i:])

		switch {
		case n == 1:
			out = append(out, values[i])
		case values[i] == "_":
			out = append(out, fmt.Sprintf("_x%d", n))
		case by == 0:
			out = append(out, fmt.Sprintf("%sx%d", values[i], n-1))
		default:
			out = append(out, fmt.Sprintf("%s+%dx%d", values[i], by, n-1))
		}

		i += n
	}

	return strings.Join(out, " ")
}

// run returns how many values from the first on grow by how much, or are the same.
func run(values []string) (n, by int) {
	for n = 1; n < len(values) && values[n] == values[0]; n++ {
	}

	if n > 1 || len(values) < 3 {
		return n, 0
	}

	first, err := strconv.Atoi(values[0])
	if err != nil {
		return 1, 0
	}

	second, err := strconv.Atoi(values[1])
	if by = second - first; err != nil || by < 0 {
		return 1, 0
	}

	for n = 2; n < len(values) && values[n] == strconv.Itoa(first+n*by); n++ {
	}

	if n == 2 {
		return 1, 0
	}

	return n, by
}

func (s *story) must(err error) {
	if err != nil {
		s.t.Error(err)
	}
}

// Pipes are a listener whose connections come from a channel.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}

	return conn, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }
