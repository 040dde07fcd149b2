package clusters

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Requests is what controller-runtime counts for all clients of a program. It keeps numbers
// for every server there ever was; where clusters come and go that has no end. The
// histograms by server that a program may opt into still grow.
var requests = tally{hosts: map[string]*visited{}} //nolint:gochecknoglobals // there is one such counter in a program

// A tally knows whose numbers can go.
type tally struct {
	mu    sync.Mutex
	hosts map[string]*visited
}

// A visited server has Clusters that are open.
type visited struct {
	open   int
	others bool // it had numbers before the first of these: they are somebody else's too
}

// enter counts a Cluster of a server until leave is called for the first time. With the
// last one go the server's numbers, unless others have a part in them.
func (t *tally) enter(config *rest.Config) (leave func()) {
	at, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.hosts[at.Host]
	if v == nil {
		v = &visited{others: counted(at.Host)}
		t.hosts[at.Host] = v
	}
	v.open++

	return sync.OnceFunc(func() { t.leave(at.Host, v) })
}

func (t *tally) leave(host string, v *visited) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.open--; v.open > 0 {
		return
	}
	delete(t.hosts, host)
	if counter := counter(); counter != nil && !v.others {
		counter.DeletePartialMatch(prometheus.Labels{"host": host})
	}
}

// counter returns the one of controller-runtime, which can only be had from whoever says
// that there is one already, or nil.
func counter() *prometheus.CounterVec {
	twin := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total",
		Help: "Number of HTTP requests, partitioned by status code, method, and host.",
	}, []string{"code", "method", "host"})
	err := ctrlmetrics.Registry.Register(twin)
	var registered prometheus.AlreadyRegisteredError
	switch {
	case err == nil:
		ctrlmetrics.Registry.Unregister(twin)
	case errors.As(err, &registered):
		if counter, ok := registered.ExistingCollector.(*prometheus.CounterVec); ok {
			return counter
		}
	}

	return nil
}

// counted reports whether there are numbers of a server.
func counted(host string) bool {
	counter := counter()
	if counter == nil {
		return false
	}
	alone := prometheus.NewRegistry()
	if err := alone.Register(counter); err != nil {
		return true
	}
	families, err := alone.Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "host" && l.GetValue() == host {
					return true
				}
			}
		}
	}

	return err != nil // whoever does not know leaves it alone
}
