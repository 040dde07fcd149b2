// Package cluster talks to the API server: it finds kinds of managed resources, and reads, watches and annotates
// objects. Its errors are sentences for users. Start with [Access].
package cluster

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// An Access is how to reach the API server: a kubeconfig, and the flags that override it. The zero value is not valid,
// use [NewAccess].
type Access struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
	timeout   time.Duration
}

// NewAccess returns the access by the kubeconfig that kubectl uses, and adds the flags of kubectl that change it.
func NewAccess(flags *pflag.FlagSet) *Access {
	a := &Access{rules: clientcmd.NewDefaultClientConfigLoadingRules()}

	flags.StringVar(&a.rules.ExplicitPath, "kubeconfig", "", "Path to the kubeconfig.")
	flags.DurationVar(&a.timeout, "request-timeout", 30*time.Second, "How long a single request may take.")

	for _, f := range []struct {
		to                *string
		name, short, help string
	}{
		{&a.overrides.CurrentContext, "context", "", "Context of the kubeconfig."},
		{&a.overrides.Context.Cluster, "cluster", "", "Cluster of the kubeconfig."},
		{&a.overrides.Context.AuthInfo, "user", "", "User of the kubeconfig."},
		{&a.overrides.Context.Namespace, "namespace", "n", "Namespace. The default is that of the context."},
		{&a.overrides.ClusterInfo.Server, "server", "s", "URL of the API server."},
		{&a.overrides.ClusterInfo.CertificateAuthority, "certificate-authority", "", "File with the CA of the API server."},
		{&a.overrides.AuthInfo.Token, "token", "", "Bearer token for the API server."},
		{&a.overrides.AuthInfo.Impersonate, "as", "", "User to impersonate."},
	} {
		flags.StringVarP(f.to, f.name, f.short, "", f.help)
	}

	flags.StringArrayVar(&a.overrides.AuthInfo.ImpersonateGroups, "as-group", nil,
		"Group to impersonate; may be repeated.")

	return a
}

// A Cluster is an API server. It is safe for concurrent use.
type Cluster struct {
	// Namespace of the context or of the flag.
	Namespace string

	server    string // for messages
	discovery discovery.DiscoveryInterfaceWithContext
	requests  dynamic.Interface // with a timeout
	names     metadata.Interface
	watches   dynamic.Interface // without one
}

// loader returns the kubeconfig with the overrides.
func (a *Access) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(a.rules, &a.overrides)
}

// Contexts returns the names of the contexts of the kubeconfig. It returns none if the kubeconfig cannot be read.
func (a *Access) Contexts() (names []string) {
	raw, err := a.loader().RawConfig()
	if err != nil {
		return nil
	}

	for name := range raw.Contexts {
		names = append(names, name)
	}

	return names
}

// Connect returns the cluster of the kubeconfig. It sends no request.
func (a *Access) Connect() (*Cluster, error) {
	loader := a.loader()

	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, a.fault(err)
	}

	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, a.fault(err)
	}

	cfg.UserAgent = "kubectl-moorage"
	cfg.QPS = -1 // the API server limits its clients (priority and fairness), and callers the requests at the same time
	cfg.WarningHandler = rest.NoWarnings{}

	watching := rest.CopyConfig(cfg)
	cfg.Timeout = a.timeout

	c := &Cluster{Namespace: namespace, server: cfg.Host}

	found, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, a.fault(err)
	}

	c.discovery = found

	if c.requests, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, a.fault(err)
	}

	if c.names, err = metadata.NewForConfig(cfg); err != nil {
		return nil, a.fault(err)
	}

	if c.watches, err = dynamic.NewForConfig(watching); err != nil {
		return nil, a.fault(err)
	}

	return c, nil
}

// fault returns what is wrong with the kubeconfig.
func (a *Access) fault(err error) error {
	switch {
	case clientcmd.IsEmptyConfig(err) && a.overrides.CurrentContext == "" && a.rules.ExplicitPath == "":
		return fmt.Errorf("no kubeconfig was found, or it is empty: set $%s, or use --kubeconfig",
			clientcmd.RecommendedConfigPathEnvVar)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("cannot read the kubeconfig: %w", err)
	case clientcmd.IsContextNotFound(err):
		return fmt.Errorf("the kubeconfig does not have the context %q", a.overrides.CurrentContext)
	}

	return fmt.Errorf("cannot use the kubeconfig: %w", err)
}
