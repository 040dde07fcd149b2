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

// Guard returns a copy of a client configuration that accepts lists and watches only from the cluster that responds
// now. Guard also returns the UID that identifies this cluster: the UID of its kube-system namespace.
//
// Whenever a list or watch begins, the UID is read again before the response is returned. So a cache is never filled by
// another cluster at the same address, or by the same cluster after it lost its data. If the UID differs, every request
// fails with ErrVirtualClusterReplaced and is not sent. The failures end when the original cluster responds again.
// Guard costs one request per list or watch that begins.
//
// If the cluster was restored to an earlier state, all caches that use the returned configuration list everything
// again. A message is logged: see clusters.OnRestored.
//
// NewRegisterContext calls Guard for its virtual cluster. Use Guard for managers that you create
// yourself.
func Guard(ctx context.Context, config *rest.Config) (*rest.Config, types.UID, error) {
	unguarded, err := client.New(config, client.Options{Mapper: namespaceMapper()})
	if err != nil {
		return nil, "", errors.Wrap(err, "cannot create a client for the virtual cluster")
	}
	s, err := newIdentityCheck(ctx, unguarded, "")
	if err != nil {
		return nil, "", err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, "", errors.Wrap(err, "cannot determine the address of the virtual cluster")
	}
	log := logging.NewLogrLogger(ctrllog.Log.WithName("syncer"))
	p := &identityGuard{identity: s, basePath: base.Path, log: log}
	guarded := rest.CopyConfig(config)
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return guardTransport{identityGuard: p, next: next} })
	clusters.OnRestored(guarded, func(r clusters.Restore) { // its request is guarded, too
		logging.Error(log, r, "The virtual cluster was restored to an earlier state, listing it again",
			"resource", r.Resource.String())
	})
	return guarded, s.uid, nil
}

// namespaceMapper maps only the kind Namespace, so that reading a namespace needs no discovery.
func namespaceMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	return mapper
}

// A guardTransport is a transport that returns lists and watches of one cluster only.
type guardTransport struct {
	*identityGuard

	next http.RoundTripper
}

// RoundTrip verifies the cluster before it returns a list or a watch. While another cluster responds, it verifies the
// cluster before every request. It is safe for concurrent use.
func (g guardTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.replaced.Load() {
		if err := g.verify(r.Context()); err != nil {
			return nil, err
		}
	}
	answer, err := g.next.RoundTrip(r)
	if err != nil || !g.isListOrWatch(r) {
		return answer, err
	}
	if err := g.verify(r.Context()); err != nil {
		_ = answer.Body.Close() // the body is discarded
		return nil, err
	}
	return answer, nil
}

// An identityGuard is the state that the transports of one configuration share.
type identityGuard struct {
	identity *identityCheck
	basePath string // path of the API server's address
	log      logging.Logger
	replaced atomic.Bool // the last check found another cluster
}

// verify returns an error unless the original cluster answers. It logs when another cluster starts
// to answer, and when the original cluster answers again.
func (p *identityGuard) verify(ctx context.Context) error {
	err := p.identity.verify(ctx)
	switch {
	case err == nil && p.replaced.CompareAndSwap(true, false):
		p.log.Info("The virtual cluster answers again")
	case errors.Is(err, ErrVirtualClusterReplaced) && p.replaced.CompareAndSwap(false, true):
		logging.Error(p.log, err, "Another cluster answers in place of the virtual cluster, sending it no requests")
	}
	return err
}

// isListOrWatch reports whether a request is a list or a watch, whose response may fill
// a cache. A false positive, such as for a subresource of a namespace, costs one request.
func (p *identityGuard) isListOrWatch(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, p.basePath), "/"), "/")
	version, ok := map[string]int{"api": 2, "apis": 3}[path[0]] // number of segments up to the version
	if !ok || len(path) <= version {
		return false
	}
	path = path[version:]
	if path[0] == "namespaces" && len(path) > 2 {
		path = path[2:]
	}
	return len(path) == 1
}
