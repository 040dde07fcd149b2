package plugin

import (
	"cmp"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// The variables that say what the options leave out.
const (
	nameVariable    = "VCLUSTER_NAME"
	virtualVariable = "VCLUSTER_KUBECONFIG"
	hostVariable    = "HOST_KUBECONFIG"
	targetVariable  = "TARGET_NAMESPACE"
	currentVariable = "NAMESPACE"
	serviceVariable = "SERVICE_NAME"
)

// fromEnvironment fills in what the options leave out.
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

// kubeconfig returns what the file says that a variable names, or nil without one.
func kubeconfig(variable string) (*rest.Config, error) {
	path := os.Getenv(variable)
	if path == "" {
		return nil, nil // there is a default
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	return config, errors.Wrapf(err, "cannot read the kubeconfig of %s", variable)
}
