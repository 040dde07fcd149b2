package syncer

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// Guard returns a copy of a configuration for the cluster that answers now, known by
// the UID of its kube-system namespace, which it returns as well. Whenever a list or
// a watch begins, the cluster is asked again who it is, before anything of the answer
// is seen: so a cache never holds what another cluster says that answers under the
// same address, or the same one after it lost its data. From then on nothing is sent
// to it, until the right one is back; the error is ErrVirtualClusterReplaced. It costs
// one request per list or watch that begins, and none in between.
//
// Once the cluster was restored to an earlier state, caches of the configuration list
// everything anew, and the log says so: see clusters.OnRestored.
//
// NewRegisterContext guards its virtual cluster. Guard is for managers of your own.
func Guard(ctx context.Context, config *rest.Config) (*rest.Config, types.UID, error) {
	unguarded, err := client.New(config, client.Options{Mapper: namespaces()})
	if err != nil {
		return nil, "", errors.Wrap(err, "cannot make a client for the virtual cluster")
	}
	s, err := newSentry(ctx, unguarded, "")
	if err != nil {
		return nil, "", err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, "", errors.Wrap(err, "cannot tell the address of the virtual cluster")
	}
	log := logging.NewLogrLogger(ctrllog.Log.WithName("syncer"))
	p := &post{sentry: s, base: base.Path, log: log}
	guarded := rest.CopyConfig(config)
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return guard{post: p, next: next} })
	clusters.OnRestored(guarded, func(r clusters.Restore) { // its request is guarded, too
		logging.Error(log, r, "The virtual cluster was restored to an earlier state, it is listed anew", "resource", r.Resource.String())
	})
	return guarded, s.uid, nil
}

// namespaces maps the one kind that is asked for, which need not be discovered then.
func namespaces() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	return mapper
}

// A guard is a transport that hands over lists and watches of one cluster only.
type guard struct {
	*post

	next http.RoundTripper
}

// RoundTrip is called concurrently.
func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.replaced.Load() {
		if err := g.ask(r.Context()); err != nil {
			return nil, err
		}
	}
	answer, err := g.next.RoundTrip(r)
	if err != nil || !g.fills(r) {
		return answer, err
	}
	if err := g.ask(r.Context()); err != nil {
		_ = answer.Body.Close() // nothing of it is read
		return nil, err
	}
	return answer, nil
}

// A post is what the guards of one configuration share.
type post struct {
	sentry   *sentry
	base     string // path of the API server's address
	log      logging.Logger
	replaced atomic.Bool // the last one who answered was another cluster
}

// ask who answers.
func (p *post) ask(ctx context.Context) error {
	err := p.sentry.same(ctx)
	switch {
	case err == nil && p.replaced.CompareAndSwap(true, false):
		p.log.Info("The virtual cluster answers again")
	case errors.Is(err, ErrVirtualClusterReplaced) && p.replaced.CompareAndSwap(false, true):
		logging.Error(p.log, err, "Nothing is read from or written to the cluster that answers in place of the virtual one")
	}
	return err
}

// fills tells whether the answer to a request may fill a cache: whether it is a list
// or a watch. For what is neither, as a subresource of a namespace, yes costs a
// request.
func (p *post) fills(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, p.base), "/"), "/")
	version, ok := map[string]int{"api": 2, "apis": 3}[path[0]] // where it ends
	if !ok || len(path) <= version {
		return false
	}
	path = path[version:]
	if path[0] == "namespaces" && len(path) > 2 {
		path = path[2:]
	}
	return len(path) == 1
}
