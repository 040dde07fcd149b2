package testenv

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a kubeconfig with the permissions of the provider, for a provider that is a process of its own. It
// returns the path of the file, which ends with the test.
func (w World) Kubeconfig(t *testing.T) string {
	t.Helper()
	const name = "provider"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{
		Server: w.access.Host, CertificateAuthority: w.access.CAFile, CertificateAuthorityData: w.access.CAData,
	}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificate: w.access.CertFile, ClientCertificateData: w.access.CertData,
		ClientKey: w.access.KeyFile, ClientKeyData: w.access.KeyData,
		Token: w.access.BearerToken, TokenFile: w.access.BearerTokenFile,
	}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*c, path))

	return path
}
