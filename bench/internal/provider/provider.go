// Package provider is the process that is measured: a provider of widgets, driven by lines of JSON. Everything that
// would disturb its measurements of itself is in another process.
package provider

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/bench/internal/cloud"
	"github.com/moorage-dev/moorage/bench/internal/floor"
	"github.com/moorage-dev/moorage/bench/internal/widget"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test"
)

// The contenders.
const (
	Floor   = "floor"
	Moorage = "moorage"
	Bulk    = "bulk" // Moorage with bulk observation
)

// Contenders are all, the floor first: the others are compared with it.
var Contenders = []string{Floor, Moorage, Bulk}

// A Command is a line that the process reads.
type Command struct {
	Do        string        // start, stop, cloud, mark, read, heap, weigh, passes
	Contender string        // of start
	Poll      time.Duration // of start
	Workers   int           // of start
	Named     bool          // of start: users choose the external names
	Latency   time.Duration // of cloud
	NoLists   bool          // of cloud
	Count     int           // of weigh and passes
}

// An Answer is the line that the process writes for a Command.
type Answer struct {
	Error string `json:",omitempty"`

	Figures Figures // of read
	Mallocs float64 // of passes: in each
	Heap    uint64  // of heap: bytes in use after a collection; of weigh: bytes of Count widgets in the cloud
}

// Figures are counted since the last mark.
type Figures struct {
	Requests map[string]int // for objects, by verb and resource
	Events   int            // requests for events
	CPU      time.Duration  // of the process
	Mallocs  uint64
	Cloud    cloud.Counts
}

type process struct {
	config *rest.Config
	cloud  cloud.Cloud
	ledger test.Ledger
	scheme *kruntime.Scheme

	manager    manager.Manager
	reconciler reconcile.Reconciler // configured as that of the controller
	stop       context.CancelFunc
	ended      chan error

	marked   time.Duration
	mallocsN uint64
}

// Run executes the commands of in until its end, and writes an answer to each to out.
func Run(kubeconfig string, in io.Reader, out io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	p := &process{config: config, scheme: kruntime.NewScheme()}
	config.QPS = -1
	config.Wrap(p.ledger.Wrap)
	if err := errors.Join(clientgoscheme.AddToScheme(p.scheme), widget.AddToScheme(p.scheme)); err != nil {
		return err
	}
	lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
	for lines.Scan() {
		var c Command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return err
		}
		answer, err := p.do(c)
		if err != nil {
			answer.Error = err.Error()
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}

	return errors.Join(lines.Err(), p.end())
}

func (p *process) do(c Command) (Answer, error) {
	switch c.Do {
	case "start":
		return Answer{}, p.start(c)
	case "stop":
		return Answer{}, p.end()
	case "cloud":
		p.cloud.SetLatency(c.Latency)
		p.cloud.SetLists(!c.NoLists)
	case "mark":
		p.ledger.Reset()
		p.cloud.Reset()
		p.marked, p.mallocsN = cpu(), memory().Mallocs
	case "read":
		return Answer{Figures: p.read()}, nil
	case "heap":
		p.ledger.Reset()

		return Answer{Heap: heap()}, nil
	case "weigh":
		before, other := heap(), &cloud.Cloud{}
		for i := range c.Count {
			if _, err := other.Make(context.Background(), "", fmt.Sprintf("%032d", i), 1); err != nil {
				return Answer{}, err
			}
		}
		after := heap()
		runtime.KeepAlive(other)

		return Answer{Heap: max(after, before) - before}, nil
	case "passes":
		mallocs, err := p.passes(c.Count)

		return Answer{Mallocs: mallocs}, err
	default:
		return Answer{}, fmt.Errorf("unknown command %q", c.Do)
	}

	return Answer{}, nil
}

func (p *process) read() Figures {
	f := Figures{CPU: cpu() - p.marked, Mallocs: memory().Mallocs - p.mallocsN, Requests: map[string]int{},
		Cloud: p.cloud.Counts()}
	for _, r := range p.ledger.Objects() {
		f.Requests[r.Verb+" "+r.Resource]++
	}
	f.Events = len(p.ledger.Events())

	return f
}

func (p *process) start(c Command) error {
	m, err := ctrl.NewManager(p.config, ctrl.Options{
		Scheme: p.scheme, Cache: managed.CacheOptions(), Metrics: server.Options{BindAddress: "0"},
		Client: client.Options{
			Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		// the machine may be busy
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)}, GracefulShutdownTimeout: new(3 * time.Minute),
	})
	if err != nil {
		return err
	}
	if p.reconciler, err = p.setUp(m, c); err != nil {
		return err
	}
	p.manager = m
	ctx, stop := context.WithCancel(context.Background())
	p.stop, p.ended = stop, make(chan error, 1)
	go func() { p.ended <- m.Start(ctx) }()

	return waitForCache(ctx, m.GetCache())
}

// waitForCache waits until the cache has all widgets. It is notified, and does not poll: the first request must not be
// late.
func waitForCache(ctx context.Context, c cache.Cache) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if !c.WaitForCacheSync(ctx) { // the manager does not wait for a cache that is not started yet
		return errors.New("the cache does not start")
	}
	informer, err := c.GetInformer(ctx, &widget.Widget{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	select {
	case <-informer.HasSyncedChecker().Done():
		return nil
	case <-ctx.Done():
		return errors.New("the cache is not filled")
	}
}

func (p *process) setUp(m manager.Manager, c Command) (reconcile.Reconciler, error) {
	switch c.Contender {
	case Floor:
		running := floor.Reconciler{Cloud: &p.cloud, Poll: c.Poll, Named: c.Named}
		alone := floor.Reconciler{Client: m.GetClient(), Cloud: &p.cloud, Poll: c.Poll, Named: c.Named}

		return &alone, running.Setup(m, c.Workers)
	case Moorage, Bulk:
		creates := managed.WithCreationTokens()
		if c.Named {
			creates = managed.WithDeterministicExternalName(true)
		}
		options := []managed.ReconcilerOption{managed.WithExternalConnecter(external{&p.cloud}),
			managed.WithCreationGracePeriod(0), creates}
		if c.Contender == Bulk {
			options = append(options, managed.WithBulkObservation(0))
		}
		err := managed.Setup(m, widget.Kind, controller.Options{MaxConcurrentReconciles: c.Workers, PollInterval: c.Poll},
			options...)

		return managed.NewReconciler(m, widget.Kind, options...), err
	default:
		return nil, fmt.Errorf("unknown contender %q", c.Contender)
	}
}

// passes runs steady reconciles, without queue and workers, and returns the allocations of each.
func (p *process) passes(n int) (float64, error) {
	ctx := context.Background()
	var all widget.List
	if err := p.manager.GetClient().List(ctx, &all); err != nil {
		return 0, err
	}
	if len(all.Items) == 0 {
		return 0, errors.New("there is nothing to look at")
	}
	look := func(n int) error {
		for i := range n {
			key := client.ObjectKeyFromObject(&all.Items[i%len(all.Items)])
			if _, err := p.reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: key}); err != nil {
				return err
			}
		}

		return nil
	}
	if err := look(len(all.Items)); err != nil { // the first reconcile of an object does one-time work
		return 0, err
	}
	p.cloud.Reset()
	before := memory().Mallocs
	err := look(n)
	mallocs := memory().Mallocs - before
	if looks := p.cloud.Counts().Looks(); err == nil && looks < n {
		err = fmt.Errorf("there were but %d looks in %d passes", looks, n)
	}

	return float64(mallocs) / float64(n), err
}

func (p *process) end() error {
	if p.stop == nil {
		return nil
	}
	p.stop()
	p.stop = nil

	return <-p.ended
}

// cpu returns the CPU time of the process.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}

	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// heap returns the bytes in use after a collection. Reconciles continue meanwhile, and objects allocated during a
// collection survive it, so it returns the minimum of several counts.
func heap() uint64 {
	least := uint64(math.MaxUint64)
	for range 6 {
		runtime.GC()
		least = min(least, memory().HeapAlloc)
	}

	return least
}

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)

	return m
}
