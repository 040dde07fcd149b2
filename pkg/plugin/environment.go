package plugin

import (
	"cmp"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// The environment variables that replace empty options.
const (
	nameVariable    = "VCLUSTER_NAME"
	virtualVariable = "VCLUSTER_KUBECONFIG"
	hostVariable    = "HOST_KUBECONFIG"
	targetVariable  = "TARGET_NAMESPACE"
	currentVariable = "NAMESPACE"
	serviceVariable = "SERVICE_NAME"
)

// fromEnvironment returns the options. It reads empty options from environment variables.
func fromEnvironment(o Options) (Options, error) {
	if o.Scheme == nil {
		o.Scheme = Scheme
	}
	o.Name = cmp.Or(o.Name, os.Getenv(nameVariable))
	o.TargetNamespace = cmp.Or(o.TargetNamespace, os.Getenv(targetVariable))
	o.CurrentNamespace = cmp.Or(o.CurrentNamespace, os.Getenv(currentVariable))
	o.ServiceName = cmp.Or(o.ServiceName, os.Getenv(serviceVariable))
	if o.Name == "" {
		return o, errors.Errorf("set Name, or the variable %s", nameVariable)
	}
	var err error
	if o.Virtual == nil {
		if o.Virtual, err = kubeconfig(virtualVariable); err != nil {
			return o, err
		}
		if o.Virtual == nil {
			return o, errors.Errorf("set Virtual, or the variable %s", virtualVariable)
		}
	}
	if o.Physical == nil {
		o.Physical, err = kubeconfig(hostVariable)
	}
	return o, err
}

// kubeconfig returns the configuration in the file whose path is in an environment variable. It
// returns nil if the variable is empty.
func kubeconfig(variable string) (*rest.Config, error) {
	path := os.Getenv(variable)
	if path == "" {
		return nil, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	return config, errors.Wrapf(err, "cannot read the kubeconfig of %s", variable)
}
