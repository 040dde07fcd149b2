package pgserver

import (
	"fmt"
	"strings"
)

// Manifest returns a Secret and a ProviderConfig for a server, for the namespace default.
func Manifest(s *Server) string {
	indented := "\n      " + strings.ReplaceAll(strings.TrimSpace(s.CA), "\n", "\n      ")

	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata:
  name: postgres
  namespace: default
stringData:
  username: %s
  password: %s
---
apiVersion: postgres.moorage.dev/v1alpha1
kind: ProviderConfig
metadata:
  name: default
  namespace: default
spec:
  host: %s
  port: %d
  credentialsSecretRef:
    name: postgres
  tls:
    caBundle: |%s
`, Provider, Password, Host, s.Port, indented)
}
