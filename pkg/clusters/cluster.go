package clusters

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Cluster is a connection to a cluster. Make it with New, configure it, then call InitializeClient. Only one
// goroutine may use the Cluster until InitializeClient returns. After that the methods of the Cluster may be called
// concurrently.
type Cluster struct {
	id                 string
	path               string
	config             *rest.Config
	scheme             *runtime.Scheme
	client             client.Client
	http               *http.Client
	releaseMetrics     func() // the release function of hostMetrics.acquire
	newCluster         func() cluster.Cluster
	currentCredentials func() [][]byte // credentials that are not in the configuration
}

// New returns a Cluster without connection settings. The ID is used in error messages and
// in the kubeconfig.
func New(id string) *Cluster { return &Cluster{id: id} }

// NewTestClusterFromClient returns a cluster that has only a client, such as a fake one:
// RESTConfig and Cluster are nil.
func NewTestClusterFromClient(id string, c client.Client) *Cluster {
	return &Cluster{id: id, client: c, scheme: c.Scheme()}
}

// WithRESTConfig sets the configuration of the connection and returns the cluster. The
// configuration must not be changed afterwards.
func (c *Cluster) WithRESTConfig(config *rest.Config) *Cluster {
	c.config = config

	return c
}

// WithCredentials sets a function that returns further credentials of the connection, such as a renewed token, and
// returns the cluster. These credentials are not in the configuration. The function may be called concurrently and must
// not block.
func (c *Cluster) WithCredentials(current func() [][]byte) *Cluster {
	c.currentCredentials = current

	return c
}

// WithConfigPath sets the path of the kubeconfig that InitializeRESTConfig reads, and returns the cluster. The path may
// also name a folder that contains the file kubeconfig. The operator of the program provides the kubeconfig, so the
// kubeconfig is trusted.
func (c *Cluster) WithConfigPath(path string) *Cluster {
	c.path = path

	return c
}

// InitializeRESTConfig reads the kubeconfig at the path of WithConfigPath. Without a path it uses the in-cluster
// configuration. It does nothing after WithRESTConfig.
func (c *Cluster) InitializeRESTConfig() error {
	if c.config != nil {
		return nil
	}
	if c.path == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return errors.Wrapf(err, "cannot find cluster %s", c.id)
		}
		c.config = config

		return nil
	}
	path := c.path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "kubeconfig")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return errors.Wrapf(err, "cannot find cluster %s", c.id)
	}
	c.config = config

	return nil
}

// InitializeClient makes a client for the kinds of a scheme. If the scheme is nil, the client supports the built-in
// kinds of Kubernetes. InitializeClient calls InitializeRESTConfig if necessary. The client reads from the API server,
// not from a cache. Until the client is used, it sends no request. If the configuration sets no QPS, the client has no
// rate limit.
func (c *Cluster) InitializeClient(scheme *runtime.Scheme) error {
	if err := c.InitializeRESTConfig(); err != nil {
		return err
	}
	config := c.config
	if config.QPS == 0 {
		// The default of client-go is five per second. API servers have priority and fairness.
		config = rest.CopyConfig(config)
		config.QPS = -1
	}
	var err error
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return errors.Wrapf(err, "cannot connect to cluster %s", c.id)
	}
	if c.client, err = client.New(config, client.Options{Scheme: scheme, HTTPClient: c.http}); err != nil {
		return errors.Wrapf(err, "cannot make a client for cluster %s", c.id)
	}
	if c.releaseMetrics != nil {
		c.releaseMetrics()
	}
	c.releaseMetrics = requestMetrics().acquire(config)
	c.scheme = c.client.Scheme()
	c.newCluster = sync.OnceValue(func() cluster.Cluster {
		made, err := cluster.New(config, func(o *cluster.Options) {
			o.Scheme = c.scheme
			o.HTTPClient = c.http
		})
		if err != nil {
			return nil // does not happen: a client was made of the same configuration
		}

		return made
	})

	return nil
}

// ID returns the ID given to New.
func (c *Cluster) ID() string { return c.id }

// Client returns the client. It is nil before InitializeClient.
func (c *Cluster) Client() client.Client { return c.client }

// Cluster returns a controller-runtime cluster that has a cache. It is nil before InitializeClient. The first call of
// the method Cluster makes the controller-runtime cluster, and further calls return the same one. The
// controller-runtime cluster runs when it is added to a manager.
func (c *Cluster) Cluster() cluster.Cluster {
	if c.newCluster == nil {
		return nil
	}

	return c.newCluster()
}

// Scheme returns the scheme of the client. It is nil before InitializeClient.
func (c *Cluster) Scheme() *runtime.Scheme { return c.scheme }

// RESTConfig returns the configuration, or nil if there is none. The caller must not change it.
func (c *Cluster) RESTConfig() *rest.Config { return c.config }

// Credentials calls the function that was passed to WithCredentials, and returns its result. Without a function it
// returns nil. The returned values are secrets, which have to be redacted from texts.
func (c *Cluster) Credentials() [][]byte {
	if c.currentCredentials == nil {
		return nil
	}

	return c.currentCredentials()
}

// HasRESTConfig reports whether there is a configuration.
func (c *Cluster) HasRESTConfig() bool { return c.config != nil }

// HasClient reports whether there is a client.
func (c *Cluster) HasClient() bool { return c.client != nil }

// APIServerEndpoint returns the address of the API server. Without a configuration it returns "".
func (c *Cluster) APIServerEndpoint() string {
	if c.config == nil {
		return ""
	}

	return c.config.Host
}

// WriteKubeconfig returns the configuration as a kubeconfig. The kubeconfig contains the credentials, so it is a
// secret. WriteKubeconfig returns an error if there is no configuration, or if the credentials cannot be included, such
// as a client certificate in a file.
func (c *Cluster) WriteKubeconfig() ([]byte, error) {
	switch {
	case c.config == nil:
		return nil, errors.Errorf("cluster %s has no configuration", c.id)
	case c.config.CertFile != "" || c.config.KeyFile != "" || c.config.ExecProvider != nil || c.config.AuthProvider != nil:
		return nil, errors.Errorf("credentials of cluster %s are not in its configuration", c.id)
	}
	ca, token := c.config.CAData, c.config.BearerToken
	for file, into := range map[string]func([]byte){
		c.config.CAFile:          func(b []byte) { ca = b },
		c.config.BearerTokenFile: func(b []byte) { token = string(b) },
	} {
		if file == "" {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot read the configuration of cluster %s", c.id)
		}
		into(b)
	}
	name := c.id
	out, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: name,
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: c.config.Host, TLSServerName: c.config.ServerName,
			CertificateAuthorityData: ca, InsecureSkipTLSVerify: c.config.Insecure,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			Token: token, Username: c.config.Username, Password: c.config.Password,
			ClientCertificateData: c.config.CertData, ClientKeyData: c.config.KeyData,
		}},
	})

	return out, errors.Wrap(err, "cannot write the kubeconfig")
}

// Close closes idle connections. Nothing else needs to be closed. Further calls do nothing.
//
// When the last Cluster that connects to a server is closed, Close also deletes the series of this server from the
// metric rest_client_requests_total. It does not delete series that existed before the first Cluster of this server was
// initialized. If another client of this server still sends requests, the series of this server start again from zero.
func (c *Cluster) Close() {
	if c.http != nil {
		// client-go wraps the transport in types without CloseIdleConnections.
		utilnet.CloseIdleConnectionsFor(c.http.Transport)
	}
	if c.releaseMetrics != nil {
		c.releaseMetrics()
	}
}

// NewClusterCache returns a Cache of Clusters whose clients have the given scheme.
func NewClusterCache(scheme *runtime.Scheme, o CacheOptions[*Cluster]) *Cache[*Cluster] {
	if o.Close == nil {
		o.Close = (*Cluster).Close
	}

	return NewCache(func(_ context.Context, key Key, in Input) (*Cluster, error) {
		c := New(key.String()).WithRESTConfig(in.RESTConfig)

		return c, c.InitializeClient(scheme)
	}, o)
}
