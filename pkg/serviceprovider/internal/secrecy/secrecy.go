// Package secrecy returns the credentials of connections, so that package redact can remove them
// from texts. Begin with From and OfConnections.
package secrecy

import (
	"os"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// A Connection has the credentials of a cluster: its configuration and, if they are renewed,
// the function that returns the current ones.
type Connection struct {
	config  *rest.Config
	renewed func() [][]byte
}

// From returns the connection of a cluster, which may be nil.
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

// OfConnections returns the credentials of connections: those of their configurations, and
// those that were renewed since.
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

// Of returns the credentials in configurations, or in files that they name. A configuration may
// be nil. Credentials of plugins are not included.
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
