package controlplane

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

const (
	// readyTimeout bounds a start that never becomes ready; two seconds is usual. The
	// parent process has a shorter timeout of its own.
	readyTimeout = 10 * time.Minute
	readyPoll    = 20 * time.Millisecond
)

// apiServer completes the options of kube-apiserver. Its own command is of no
// use here: it installs a signal handler, which may exist only once.
func apiServer(ctx context.Context, o Options, etcdURL string) (options.CompletedOptions, error) {
	s := options.NewServerRunOptions()
	var none options.CompletedOptions
	named := s.Flags()
	flags := named.FlagSet("generic")
	for _, set := range named.FlagSets {
		flags.AddFlagSet(set)
	}
	audit, err := auditFlags(o)
	if err != nil {
		return none, err
	}
	err = flags.Parse(append(audit,
		"--etcd-servers="+etcdURL,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--tls-cert-file="+o.ServerCertificate,
		"--tls-private-key-file="+o.ServerKey,
		"--client-ca-file="+o.Authority,
		"--anonymous-auth=false",
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+o.ServiceAccountKey,
		"--service-account-signing-key-file="+o.ServiceAccountKey,
		"--service-cluster-ip-range=10.0.0.0/24",
		// The server is not reachable from other machines, so it publishes no endpoint.
		"--endpoint-reconciler-type=none",
		// No controller creates the accounts that this plug-in would wait for.
		"--disable-admission-plugins=ServiceAccount",
		"--profiling=false",
	))
	if err != nil {
		return none, fmt.Errorf("cannot set flags of kube-apiserver: %w", err)
	}
	// An open listener leaves no moment in which another program takes the port.
	s.SecureServing.Listener = o.Listener
	if err := s.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return none, fmt.Errorf("cannot set features of kube-apiserver: %w", err)
	}
	completed, err := s.Complete(ctx)
	if err != nil {
		return none, fmt.Errorf("cannot complete options of kube-apiserver: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return none, fmt.Errorf("cannot use options of kube-apiserver: %w", utilerrors.NewAggregate(errs))
	}
	return completed, nil
}

// runAPIServer serves until the context ends.
func runAPIServer(ctx context.Context, o Options, etcdURL string) error {
	completed, err := apiServer(ctx, o, etcdURL)
	if err != nil {
		return err
	}
	if err := app.Run(ctx, completed); err != nil {
		return fmt.Errorf("kube-apiserver failed: %w", err)
	}
	return nil
}

// awaitReady waits until the server says so and has made the namespace that
// everyone expects, which it does a moment later.
func awaitReady(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout,
		fmt.Errorf("kube-apiserver was not ready within %s", readyTimeout))
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			_, err = client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}
