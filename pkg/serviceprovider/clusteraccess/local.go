package clusteraccess

import (
	"net/url"

	"k8s.io/client-go/rest"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// HostFromAnnotation is for WithRewriteRESTConfig: it reaches a cluster at the address
// that an annotation of its AccessRequest tells, such as the one that a cluster on this
// machine has outside its own network. The server still has to prove that it is the one
// of the kubeconfig. Without the annotation nothing changes; the error says that it holds
// no https address.
func HostFromAnnotation(key string) func(ar *clustersv1alpha1.AccessRequest, config *rest.Config) error {
	return func(ar *clustersv1alpha1.AccessRequest, config *rest.Config) error {
		address, ok := ar.GetAnnotations()[key]
		if !ok {
			return nil
		}
		to, err := url.Parse(address)
		if err != nil || to.Scheme != "https" || to.Host == "" || to.User != nil {
			return errors.Errorf("annotation %s holds no https address", key)
		}
		from, err := url.Parse(config.Host)
		if err != nil {
			return errors.Wrap(err, "cannot tell the name of the server")
		}
		if config.ServerName == "" {
			config.ServerName = from.Hostname()
		}
		config.Host = address

		return nil
	}
}
