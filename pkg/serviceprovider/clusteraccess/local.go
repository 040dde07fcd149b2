package clusteraccess

import (
	"net/url"

	"k8s.io/client-go/rest"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// HostFromAnnotation returns a function for WithRewriteRESTConfig. The function replaces the address of a cluster by
// the value of an annotation of its AccessRequest, for instance by an address that is reachable from outside the
// cluster network. The server still has to present a certificate for the host in the kubeconfig. If the AccessRequest
// does not have the annotation, the function changes nothing. If the value of the annotation is not an https address,
// the function returns an error.
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
			return errors.Wrap(err, "cannot parse the host of the server")
		}
		if config.ServerName == "" {
			config.ServerName = from.Hostname()
		}
		config.Host = address

		return nil
	}
}
