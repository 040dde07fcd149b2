package testenv

import (
	"bytes"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/moorage-dev/moorage/pkg/plan"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/provider"
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

// Plan runs the command that shows what the provider of the world would change, with the permissions of the provider.
func (w World) Plan(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p, err := provider.Plan(w.options, func(kubeconfig string) (*rest.Config, error) {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	})
	must(t, err)

	var out, errs bytes.Buffer
	code = plan.Run(t.Context(), append([]string{"--kubeconfig", w.Kubeconfig(t)}, args...), &out, &errs, p)

	return code, out.String(), errs.String()
}
