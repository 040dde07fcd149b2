// Package secrecy extracts the credentials of connections, so that package redact can remove them from texts. Start
// with From and OfConnections.
package secrecy

import (
	"os"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// A Connection holds the REST configuration of a cluster. If the credentials of the cluster are renewed, it also holds
// the function that returns the current credentials.
type Connection struct {
	config  *rest.Config
	renewed func() [][]byte
}

// From returns the Connection of a cluster. For a nil cluster it returns the zero value.
func From(c *clusters.Cluster) Connection {
	switch {
	case c == nil:
		return Connection{}
	case c.Credentials() == nil:
		return Connection{config: c.RESTConfig()}
	default:
		return Connection{c.RESTConfig(), c.Credentials}
	}
}

// OfConnections returns the credentials in the REST configurations of the connections, and their renewed credentials.
func OfConnections(all ...Connection) [][]byte {
	var secrets [][]byte
	for _, c := range all {
		secrets = append(secrets, Of(c.config)...)
		if c.renewed != nil {
			secrets = append(secrets, c.renewed()...)
		}
	}

	return secrets
}

// Of returns the credentials in the configurations, and in files to which the configurations refer. A configuration may
// be nil. Of does not return the credentials of plugins.
func Of(configs ...*rest.Config) [][]byte {
	var secrets [][]byte
	for _, c := range configs {
		if c == nil {
			continue
		}
		secrets = append(secrets, []byte(c.BearerToken), []byte(c.Password), c.KeyData)
		for _, file := range []string{c.BearerTokenFile, c.KeyFile} {
			if file == "" {
				continue
			}
			if secret, err := os.ReadFile(file); err == nil {
				secrets = append(secrets, secret)
			}
		}
	}

	return secrets
}
