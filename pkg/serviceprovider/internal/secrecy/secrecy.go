// Package secrecy tells the credentials of connections, so that package redact can take them
// out of texts.
package secrecy

import (
	"os"

	"k8s.io/client-go/rest"
)

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
