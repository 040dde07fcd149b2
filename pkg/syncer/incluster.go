package syncer

import (
	"bytes"
	"cmp"
	"os"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A podEnvironment returns the client configuration and the namespace of the pod. Both functions
// return an error outside of a pod.
type podEnvironment struct {
	config    func() (*rest.Config, error)
	namespace func() (string, error)
}

// inClusterEnvironment reads the service account that is mounted into every pod.
var inClusterEnvironment = podEnvironment{config: rest.InClusterConfig, namespace: func() (string, error) {
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return string(bytes.TrimSpace(text)), err
}}

// complete sets the defaults, for example the cluster of the pod as the host. It returns an error
// for missing options and invalid names.
func (o RegisterOptions) complete(in podEnvironment) (RegisterOptions, error) {
	if o.Virtual == nil || o.Name == "" {
		return o, errors.New("Virtual and Name are required")
	}
	if o.Physical == nil {
		host, err := in.config()
		if err != nil {
			return o, errors.Wrap(err, "without Physical the host is the cluster of the pod")
		}
		namespace, err := in.namespace()
		if err != nil && (o.TargetNamespace == "" || o.CurrentNamespace == "") {
			return o, errors.Wrap(err, "cannot read the namespace of the pod")
		}
		o.Physical = host
		o.CurrentNamespace, o.TargetNamespace = cmp.Or(o.CurrentNamespace, namespace),
			cmp.Or(o.TargetNamespace, namespace)
	}
	if o.TargetNamespace == "" {
		return o, errors.New("Physical and TargetNamespace are required together")
	}
	for what, name := range map[string]string{"Name": o.Name, "TargetNamespace": o.TargetNamespace} {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return o, errors.Errorf("%s %q is not a valid name: %s", what, name, problems[0])
		}
	}
	return o, nil
}
