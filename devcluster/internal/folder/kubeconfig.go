package folder

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/moorage-dev/moorage/devcluster/internal/pki"
)

// name is that of the cluster and of the context in every kubeconfig.
const name = "devcluster"

// Config returns a kubeconfig for a user of the server on that port, complete
// in itself.
func Config(port int, authority []byte, user string, pair pki.Pair) *api.Config {
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{
		Server:                   "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		CertificateAuthorityData: authority,
	}
	config.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: pair.Certificate, ClientKeyData: pair.Key}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	return config
}

// WriteKubeconfig replaces the administrator's kubeconfig in one step: clients
// may be reading it.
func (f Folder) WriteKubeconfig(config *api.Config) error {
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("cannot encode kubeconfig: %w", err)
	}
	temporary := f.Kubeconfig() + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return f.cannotWrite(err)
	}
	if err := os.Rename(temporary, f.Kubeconfig()); err != nil {
		return f.cannotWrite(err)
	}
	return nil
}
