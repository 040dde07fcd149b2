package sim

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A Simulator runs schedules. Use New. A Simulator may be used concurrently, in any bubbles of testing/synctest. Its
// runs share data that takes long to compute, which has no effect on their results.
type Simulator struct {
	memory  *apiserver.Memory // of all servers, because schedules are alike for the most part
	meters  sync.Pool         // of *meters, of worlds without a violation
	endings sync.Map          // of runs without faults, by scenario and class
	layouts layouts
	collector
}

// A collector collects metrics, one collector of a world at a time.
type collector struct {
	collecting sync.Mutex
	collected  chan prometheus.Metric // has room for more metrics of one name than there may be
}

// New returns a Simulator. Call it outside the bubbles of testing/synctest in which the Simulator runs schedules.
func New() *Simulator {
	return &Simulator{
		memory:    apiserver.NewMemory(theScheme()),
		meters:    sync.Pool{New: func() any { return newMeters() }},
		collector: collector{collected: make(chan prometheus.Metric, 4096)},
	}
}

// RunBehind runs a schedule like Run, with another server in place of the simulated API server. The function behind
// returns a client of that server. If behind is nil, RunBehind is the same as Run. If behind returns an error,
// RunBehind returns this error and runs nothing.
//
// The server has to be empty, and has to serve the kinds of Scheme. Nothing else may write to it, because the simulator
// answers lists from the changes that its own requests have made. Faults are injected as in Run. Two runs of a schedule
// are identical only if the server assigns the same UIDs and versions.
func (m *Simulator) RunBehind(s Schedule, trace bool, behind func() (client.Client, error),
	o ...managed.ReconcilerOption) (Result, error) {
	if behind == nil {
		return m.Run(s, trace, o...)
	}
	c, err := behind()
	if err != nil {
		return Result{}, errors.Wrap(err, "cannot make what is behind")
	}

	return m.run(s, trace, func() client.Client { return c }, func(*World) {}, o...)
}

// Run runs a schedule. The reconciler has the options o in addition to the options of the scenario. If trace is set,
// the result has a trace. Call Run in a bubble of testing/synctest, because a run takes hours of virtual time. Run
// returns an error if the scenario or the class does not exist.
func (m *Simulator) Run(s Schedule, trace bool, o ...managed.ReconcilerOption) (Result, error) {
	return m.run(s, trace, nil, func(*World) {}, o...)
}

// Scheme returns the scheme of the kinds of objects in schedules. All calls return one shared scheme, which must not be
// modified.
func Scheme() *runtime.Scheme { return theScheme() }

var theScheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{bucket.AddToScheme, bucket.AddDefinitions, corev1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // kinds of our own cannot fail to register
		}
	}

	return s
})

// The kinds of objects in schedules, in addition to Namespaces and Secrets. A Definition has no namespace.
type (
	Bucket     = bucket.Bucket
	Replica    = bucket.Replica
	Definition = bucket.Definition
)
