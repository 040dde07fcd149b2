// Package secrecy tells the credentials of connections, so that package redact can take them
// out of texts.
package secrecy

import (
	"os"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// A Connection tells the credentials of a cluster. It keeps the configuration alone, unless the
// cluster has credentials that are renewed.
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

// Of returns the credentials that are in configurations, or in files that they name. A
// configuration may be nil. What a plugin gets elsewhere is not known.
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
			if secret, err := os.ReadFile(file); err == nil { //nolint:gosec // the file of the program's own credentials
				secrets = append(secrets, secret)
			}
		}
	}

	return secrets
}
