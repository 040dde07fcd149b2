package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/bench/internal/widget"
	"github.com/moorage-dev/moorage/pkg/devcluster"
)

// writers is the number of concurrent requests of the load.
const writers = 16

// A world is an API server that users write to.
type world struct {
	cluster *devcluster.Cluster
	config  *rest.Config
	api     client.Client
	scheme  *kruntime.Scheme
}

func newWorld(ctx context.Context, progress io.Writer) (*world, error) {
	w := &world{scheme: kruntime.NewScheme()}
	if err := errors.Join(clientgoscheme.AddToScheme(w.scheme), apiextensionsv1.AddToScheme(w.scheme),
		widget.AddToScheme(w.scheme)); err != nil {
		return nil, err
	}
	var err error
	if w.cluster, err = devcluster.Start(ctx, devcluster.Options{Own: true, Progress: progress}); err != nil {
		return nil, err
	}
	if err := w.prepare(ctx); err != nil {
		return nil, errors.Join(err, w.cluster.Stop())
	}

	return w, nil
}

func (w *world) prepare(ctx context.Context) (err error) {
	if w.config, err = w.cluster.RESTConfig(); err != nil {
		return err
	}
	w.config.QPS = -1
	if w.api, err = client.New(w.config, client.Options{Scheme: w.scheme}); err != nil {
		return err
	}
	if err := w.api.Create(ctx, widget.CRD()); err != nil {
		return client.IgnoreAlreadyExists(err)
	}

	err = until(ctx, 5*time.Minute, "the kind is served", func() bool {
		return w.api.List(ctx, &widget.List{}) == nil
	})

	return errors.Join(err, wait(ctx, settled))
}

// A fleet is the widgets of one namespace and their known state.
type fleet struct {
	*world

	ns    string
	count int

	mu    sync.Mutex
	ready map[string]bool // for each existing object
}

func (w *world) newFleet(ctx context.Context, name string, count int) (*fleet, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
	if err := w.api.Create(ctx, ns); err != nil {
		return nil, err
	}
	f := &fleet{world: w, ns: ns.Name, count: count, ready: map[string]bool{}}
	watched, err := cache.New(w.config,
		cache.Options{Scheme: w.scheme, DefaultNamespaces: map[string]cache.Config{f.ns: {}}})
	if err != nil {
		return nil, err
	}
	informer, err := watched.GetInformer(ctx, &widget.Widget{})
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: f.seen, UpdateFunc: func(_, o any) { f.seen(o) }, DeleteFunc: f.left,
	})
	go func() { _ = watched.Start(ctx) }() // a failure shows as a wait that times out

	return f, err
}

func (f *fleet) seen(o any) {
	if b, ok := o.(*widget.Widget); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ready[b.Name] = b.Ready()
	}
}

func (f *fleet) left(o any) {
	if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	if b, ok := o.(*widget.Widget); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.ready, b.Name)
	}
}

func (f *fleet) counts() (ready, present int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, is := range f.ready {
		if is {
			ready++
		}
	}

	return ready, len(f.ready)
}

func name(i int) string { return fmt.Sprintf("widget-%05d", i) }

// create creates all widgets and waits until they are ready. It returns how long that took.
func (f *fleet) create(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	err := f.each(func(i int) error {
		return client.IgnoreAlreadyExists(
			patiently(ctx, func() error { return f.api.Create(ctx, widget.New(f.ns, name(i))) }))
	})
	if err != nil {
		return 0, err
	}
	err = until(ctx, 10*time.Minute, "all are ready", func() bool { ready, _ := f.counts(); return ready == f.count })

	return time.Since(began), err
}

// remove removes all widgets and waits until they are gone. It returns how long that took.
func (f *fleet) remove(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	err := patiently(ctx, func() error { return f.api.DeleteAllOf(ctx, &widget.Widget{}, client.InNamespace(f.ns)) })
	if err != nil {
		return 0, err
	}
	err = until(ctx, 10*time.Minute, "all are gone", func() bool { _, present := f.counts(); return present == 0 })

	return time.Since(began), err
}

// each calls do for each widget, several at a time.
func (f *fleet) each(do func(i int) error) error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs error
	)
	for from := range writers {
		wg.Go(func() {
			for i := from; i < f.count; i += writers {
				if err := do(i); err != nil {
					mu.Lock()
					errs = errors.Join(errs, err)
					mu.Unlock()

					return
				}
			}
		})
	}
	wg.Wait()

	return errs
}

// resize changes the desired size. It returns when the request was sent.
func (f *fleet) resize(ctx context.Context, i int, size int64) (time.Time, error) {
	sent := time.Now()
	b := &widget.Widget{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name(i)}}

	return sent, patiently(ctx, func() error {
		return f.api.Patch(ctx, b, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, size)))
	})
}

// patiently repeats a request that a busy server did not answer in time.
func patiently(ctx context.Context, send func() error) error {
	err := send()
	for tries := 1; tries < 5 && unanswered(err); tries++ {
		if err := wait(ctx, time.Second); err != nil {
			return err
		}
		err = send()
	}

	return err
}

func unanswered(err error) bool {
	return err != nil && (kerrors.ReasonForError(err) == metav1.StatusReasonUnknown ||
		kerrors.IsTimeout(err) || kerrors.IsServerTimeout(err) || kerrors.IsTooManyRequests(err))
}

// weight returns the bytes of JSON of a widget as the API server sends it, and without its managed fields.
func (f *fleet) weight(ctx context.Context) (all, kept float64, err error) {
	b := &widget.Widget{}
	if err := f.api.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: name(0)}, b); err != nil {
		return 0, 0, err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return 0, 0, err
	}
	all, b.ManagedFields = float64(len(text)), nil
	text, err = json.Marshal(b)

	return all, float64(len(text)), err
}

// cpu returns the CPU time of the API server since its start, by its own metrics, or 0 on systems where it reports
// none.
func (w *world) cpu(ctx context.Context) (time.Duration, error) {
	of, err := rest.HTTPClientFor(w.config)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.config.Host+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := of.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "process_cpu_seconds_total "); ok {
			seconds, err := strconv.ParseFloat(text, 64)

			return time.Duration(seconds * float64(time.Second)), err
		}
	}

	return 0, lines.Err()
}

func until(ctx context.Context, most time.Duration, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if holds() {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("it is not so that %s: %w", what, ctx.Err())
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
