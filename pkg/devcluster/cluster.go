package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrNotOwned means that Kill or Restart was called for a control plane that others use too: a shared control plane or
// an existing cluster. To own a control plane, start it with Options.Own.
var ErrNotOwned = errors.New("control plane is not owned by this process")

// server runs the control plane of a Cluster that this process owns.
type server interface {
	// start returns when the API server is ready. If it fails, no process is left.
	start(ctx context.Context) error
	// stop ends the server cleanly. If the server does not run, stop returns nil.
	stop() error
	// kill ends the server at once, as a crash would.
	kill() error
}

// credentials returns a kubeconfig for a user with the given name and groups.
type credentials func(ctx context.Context, user string, groups []string) ([]byte, error)

// Cluster is a running control plane. Get one from [Start], [Join] or [Shared]: the zero value is not usable. Its
// methods may be called concurrently.
type Cluster struct {
	// Dir is the folder of the data, certificates and logs. It is "" for an existing cluster.
	Dir string

	// Kubeconfig is the path of a kubeconfig with all permissions. The kubeconfig stays valid after Restart.
	Kubeconfig string

	mint    credentials
	release func() error // called once, by the first Stop

	mu      sync.Mutex // guards what follows
	server  server     // nil unless this process owns the control plane
	stopped bool
}

// RESTConfig returns a client configuration with all permissions and without a client-side rate limit. The caller may
// change it.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	kubeconfig, err := os.ReadFile(c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cannot read kubeconfig: %w", err)
	}
	return restConfig(kubeconfig)
}

// UserConfig returns a client configuration for a user with the given name and groups. The user has the permissions
// that RBAC grants to the name and the groups. The configuration has no client-side rate limit, and the caller may
// change it. UserConfig also works while the API server is down.
func (c *Cluster) UserConfig(ctx context.Context, user string, groups ...string) (*rest.Config, error) {
	kubeconfig, err := c.UserKubeconfig(ctx, user, groups...)
	if err != nil {
		return nil, err
	}
	return restConfig(kubeconfig)
}

// UserKubeconfig is like UserConfig, but returns a complete kubeconfig, which another process can use. The kubeconfig
// is a secret. For a control plane that devcluster has started, it contains a client certificate that is valid for a
// day. For other clusters, the kubeconfig impersonates the user.
func (c *Cluster) UserKubeconfig(ctx context.Context, user string, groups ...string) ([]byte, error) {
	if user == "" {
		return nil, errors.New("cannot make a credential: user name is empty")
	}
	kubeconfig, err := c.mint(ctx, user, groups)
	if err != nil {
		return nil, fmt.Errorf("cannot make a credential for user %q: %w", user, err)
	}
	return kubeconfig, nil
}

// Stop ends the use of the control plane. If this process owns the control plane, Stop shuts it down cleanly and
// removes a temporary folder. A shared control plane ends by itself one minute after its last user has stopped. Stop
// does not change an existing cluster. Further calls return nil.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	var errs []error
	if c.server != nil {
		errs = append(errs, c.server.stop())
	}
	if c.release != nil {
		errs = append(errs, c.release())
	}
	return errors.Join(errs...)
}

// Kill ends the API server and etcd at once, as a crash would, and returns after they have ended. Data, port and
// credentials remain, so [Cluster.Restart] can start the control plane again. Kill returns ErrNotOwned if others use
// the control plane too.
func (c *Cluster) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return ErrNotOwned
	}
	return c.server.kill()
}

// Restart starts the control plane again with the same folder and port, and returns when it is ready. If the control
// plane is still running, Restart first shuts it down cleanly. To keep the control plane down for some time, call
// [Cluster.Kill], wait, and call Restart. Restart returns ErrNotOwned if others use the control plane too.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return ErrNotOwned
	}
	if c.stopped {
		return errors.New("cannot restart a control plane after Stop")
	}
	if err := c.server.stop(); err != nil {
		return err
	}
	return c.server.start(ctx)
}

func restConfig(kubeconfig []byte) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cannot use kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// impersonate returns credentials for a cluster whose certificate authority is not accessible. The kubeconfigs contain
// the administrator's credentials and impersonate the user.
func impersonate(kubeconfigPath string) credentials {
	return func(_ context.Context, user string, groups []string) ([]byte, error) {
		config, err := clientcmd.LoadFromFile(kubeconfigPath)
		if err != nil {
			return nil, err
		}
		if err := clientcmd.ResolveLocalPaths(config); err != nil {
			return nil, err
		}
		current, ok := config.Contexts[config.CurrentContext]
		if !ok || config.AuthInfos[current.AuthInfo] == nil {
			return nil, fmt.Errorf("kubeconfig %s has no current context with a user", kubeconfigPath)
		}
		config.AuthInfos[current.AuthInfo].Impersonate = user
		config.AuthInfos[current.AuthInfo].ImpersonateGroups = groups
		return clientcmd.Write(*config)
	}
}
