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

// A Cluster is a connection to a cluster. Make it with New, say where it is, then
// call InitializeClient: what comes before that is for one goroutine, everything else
// may be called concurrently afterwards.
type Cluster struct {
	id     string
	path   string
	config *rest.Config
	scheme *runtime.Scheme
	client client.Client
	http   *http.Client
	leave  func() // ends that its requests are counted
	whole  func() cluster.Cluster
	tell   func() [][]byte // credentials that are not in the configuration
}

// New returns a cluster with a name for people, which is nowhere yet.
func New(id string) *Cluster { return &Cluster{id: id} }

// NewTestClusterFromClient returns a cluster of which there is only a client, such as
// a fake one: RESTConfig and Cluster are nil.
func NewTestClusterFromClient(id string, c client.Client) *Cluster {
	return &Cluster{id: id, client: c, scheme: c.Scheme()}
}

// WithRESTConfig says where the cluster is, and returns it. The configuration must
// not be changed any more.
func (c *Cluster) WithRESTConfig(config *rest.Config) *Cluster {
	c.config = config

	return c
}

// WithCredentials says how to learn which credentials the connection has that are not in its
// configuration, such as a token that was renewed, and returns the cluster. Current may be
// called concurrently, and must not wait.
func (c *Cluster) WithCredentials(current func() [][]byte) *Cluster {
	c.tell = current

	return c
}

// WithConfigPath says in which file InitializeRESTConfig finds a kubeconfig, or in
// which folder one of the name kubeconfig, and returns the cluster. The file belongs to
// whoever runs the program: what stands in it is trusted.
func (c *Cluster) WithConfigPath(path string) *Cluster {
	c.path = path

	return c
}

// InitializeRESTConfig reads the kubeconfig of WithConfigPath, or takes the cluster
// that the program runs in if there is none. It does nothing if WithRESTConfig was
// called.
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

// InitializeClient makes a client for the kinds of a scheme, by default those of
// Kubernetes itself. It reads from the API server, not from a cache, and sends
// nothing before it is used. The configuration is initialized if it was not; one
// without a QPS is not limited.
func (c *Cluster) InitializeClient(scheme *runtime.Scheme) error {
	if err := c.InitializeRESTConfig(); err != nil {
		return err
	}
	config := c.config
	if config.QPS == 0 {
		// client-go would take five a second. API servers have fairness of their own.
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
	if c.leave != nil {
		c.leave()
	}
	c.leave = requests.enter(config)
	c.scheme = c.client.Scheme()
	c.whole = sync.OnceValue(func() cluster.Cluster {
		made, err := cluster.New(config, func(o *cluster.Options) {
			o.Scheme = c.scheme
			o.HTTPClient = c.http
		})
		if err != nil {
			return nil // not after a client could be made of the same configuration
		}

		return made
	})

	return nil
}

// ID returns the name.
func (c *Cluster) ID() string { return c.id }

// Client returns the client, nil before InitializeClient.
func (c *Cluster) Client() client.Client { return c.client }

// Cluster returns a cluster with a cache, the same one each time. It is made when it
// is first asked for, and runs when it is added to a manager. It is nil before
// InitializeClient.
func (c *Cluster) Cluster() cluster.Cluster {
	if c.whole == nil {
		return nil
	}

	return c.whole()
}

// Scheme returns the kinds that the client knows, nil before InitializeClient.
func (c *Cluster) Scheme() *runtime.Scheme { return c.scheme }

// RESTConfig returns the configuration, which must not be changed, or nil.
func (c *Cluster) RESTConfig() *rest.Config { return c.config }

// Credentials returns what WithCredentials tells, nil without it. They are secrets, for those
// who take secrets out of texts.
func (c *Cluster) Credentials() [][]byte {
	if c.tell == nil {
		return nil
	}

	return c.tell()
}

// HasRESTConfig reports whether it is known where the cluster is.
func (c *Cluster) HasRESTConfig() bool { return c.config != nil }

// HasClient reports whether there is a client.
func (c *Cluster) HasClient() bool { return c.client != nil }

// APIServerEndpoint returns the address of the API server, "" if it is not known.
func (c *Cluster) APIServerEndpoint() string {
	if c.config == nil {
		return ""
	}

	return c.config.Host
}

// WriteKubeconfig returns the configuration as a kubeconfig, with its credentials: it
// is a secret. It returns an error if there is none, or if the credentials cannot be
// written down, as with a client certificate that is in a file.
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
			Server: c.config.Host, TLSServerName: c.config.ServerName, CertificateAuthorityData: ca, InsecureSkipTLSVerify: c.config.Insecure,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			Token: token, Username: c.config.Username, Password: c.config.Password,
			ClientCertificateData: c.config.CertData, ClientKeyData: c.config.KeyData,
		}},
	})

	return out, errors.Wrap(err, "cannot write the kubeconfig")
}

// Close closes the connections that are not in use. With the last Cluster of a server that
// is closed its requests are taken out of rest_client_requests_total, unless there were
// some before the first one was initialized: whatever else asks the same server later on
// is counted anew from then on. Nothing else needs to be closed. To close it more often
// does no harm.
func (c *Cluster) Close() {
	if c.http != nil {
		// client-go wraps the transport in what has no CloseIdleConnections of its own.
		utilnet.CloseIdleConnectionsFor(c.http.Transport)
	}
	if c.leave != nil {
		c.leave()
	}
}

// NewClusterCache returns a Cache of Clusters whose clients know the kinds of the
// scheme.
func NewClusterCache(scheme *runtime.Scheme, o CacheOptions[*Cluster]) *Cache[*Cluster] {
	if o.Close == nil {
		o.Close = (*Cluster).Close
	}

	return NewCache(func(_ context.Context, key Key, in Input) (*Cluster, error) {
		c := New(key.String()).WithRESTConfig(in.RESTConfig)

		return c, c.InitializeClient(scheme)
	}, o)
}
