package systemtest

import (
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/clusters/clusterstest"
)

// sharing is the granter of the tests that run at the same time. A granter answers every
// request of the platform: two of them would answer each other's.
var sharing commons

// Commons is a granter that runs while a test uses it.
type commons struct {
	ttls sync.Map // by namespaces of AccessRequests

	mu      sync.Mutex // guards what follows
	users   int
	granter *clusterstest.Granter
	end     func() error
}

// grantWithOthers is grant for a parallel test that has one garden of that name.
func (e *estate) grantWithOthers(garden string) {
	e.Helper()
	ns := e.at(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: e.ns, Name: garden}}).Namespace
	sharing.ttls.Store(ns, e.ttl)
	granter, err := sharing.join()
	if err != nil {
		e.Fatal(err)
	}
	e.granter = granter
	e.Cleanup(func() {
		if err := sharing.leave(); err != nil {
			e.Errorf("the granter ended with %v", err)
		}
	})
}

// join returns the granter, which runs until as many have left as have joined.
func (c *commons) join() (*clusterstest.Granter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users == 0 {
		g := &clusterstest.Granter{
			Workers:    8,
			ClusterFor: func(client.ObjectKey) (*rest.Config, bool) { return mcp.config, true },
			TTLFor:     c.ttl,
		}
		end, err := launch(platform.config, cache.Options{}, g.SetupWithManager)
		if err != nil {
			return nil, err
		}
		c.granter, c.end = g, end
	}
	c.users++

	return c.granter, nil
}

// leave stops the granter if it is not used any more.
func (c *commons) leave() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users > 0 {
		return nil
	}

	return c.end()
}

// ttl is how long the tokens for an AccessRequest are valid: 0 is as long as by default.
func (c *commons) ttl(request client.ObjectKey) time.Duration {
	if ttl, known := c.ttls.Load(request.Namespace); known {
		return ttl.(time.Duration)
	}

	return 0
}
