package clusters

import (
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Errors of ParseKubeconfig to branch on. Neither goes away by trying again.
var (
	// ErrUnsafeKubeconfig is wrapped by what is returned for a kubeconfig that asks
	// for more than to reach a cluster.
	ErrUnsafeKubeconfig = errors.New("kubeconfig is not safe to use")

	// ErrInvalidKubeconfig is wrapped by what is returned for one that cannot work.
	ErrInvalidKubeconfig = errors.New("kubeconfig is not valid")
)

// maxKubeconfig is more than a Secret can hold.
const maxKubeconfig = 1 << 20

// A Kubeconfig is what is of use in one.
type Kubeconfig struct {
	// RESTConfig has no limit of its own for the rate of requests: the API server
	// shares itself out among its users.
	RESTConfig *rest.Config

	// Expires is when its client certificate or its token does, whichever comes
	// first. It is zero if neither says.
	Expires time.Time
}

// ParseKubeconfig reads a kubeconfig that somebody else wrote: its named context, or
// its current one if the name is empty. Everything it needs has to stand in it, since
// the program that uses it has files, an environment and rights of its own. So the
// context must not run a command (exec) or a plugin (auth-provider), read files
// (tokenFile, certificate-authority, client-certificate, client-key), go through a
// proxy (proxy-url), leave out the check of the server (insecure-skip-tls-verify,
// credentials over plain http) or impersonate anybody (act-as): these are refused
// with ErrUnsafeKubeconfig. The other contexts do not matter.
//
// No error repeats what stands in the kubeconfig: it says what is wrong and, if the
// parser knows it, in which line or field.
func ParseKubeconfig(data []byte, context string) (*Kubeconfig, error) {
	if len(data) == 0 || len(data) > maxKubeconfig {
		return nil, errors.Wrapf(ErrInvalidKubeconfig, "kubeconfig has %d bytes", len(data))
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		return nil, errors.Wrap(ErrInvalidKubeconfig, "cannot parse kubeconfig: "+unreadable(data, err))
	}
	chosen, err := chosenContext(config, context)
	if err != nil {
		return nil, err
	}
	cluster, user := config.Clusters[chosen.Cluster], config.AuthInfos[chosen.AuthInfo]
	if cluster == nil {
		return nil, errors.Wrap(ErrInvalidKubeconfig, "kubeconfig has no cluster of the name in the context")
	}
	if user == nil {
		return nil, errors.Wrap(ErrInvalidKubeconfig, "kubeconfig has no user of the name in the context")
	}
	if fields := unsafe(cluster, user); len(fields) > 0 {
		return nil, errors.Wrapf(ErrUnsafeKubeconfig, "the context uses %s", strings.Join(fields, ", "))
	}

	return usable(cluster, user)
}

// chosenContext returns the context of a name, or the current one if the name is empty.
func chosenContext(config *clientcmdapi.Config, name string) (*clientcmdapi.Context, error) {
	chosen := config.Contexts[cmp.Or(name, config.CurrentContext)]
	switch {
	case chosen != nil:
		return chosen, nil
	case name != "":
		return nil, errors.Wrapf(ErrInvalidKubeconfig, "kubeconfig has no context %q", name)
	case config.CurrentContext == "":
		return nil, errors.Wrap(ErrInvalidKubeconfig, "kubeconfig has no current-context")
	default:
		return nil, errors.Wrap(ErrInvalidKubeconfig, "kubeconfig has no context of the name in current-context")
	}
}

// unsafe names the fields that are refused.
func unsafe(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) []string {
	impersonates := user.Impersonate != "" || user.ImpersonateUID != "" || len(user.ImpersonateGroups) > 0 || len(user.ImpersonateUserExtra) > 0
	var found []string
	for _, f := range []struct {
		name string
		used bool
	}{
		{"exec", user.Exec != nil},
		{"auth-provider", user.AuthProvider != nil},
		{"tokenFile", user.TokenFile != ""},
		{"client-certificate", user.ClientCertificate != ""},
		{"client-key", user.ClientKey != ""},
		{"act-as", impersonates},
		{"certificate-authority", cluster.CertificateAuthority != ""},
		{"proxy-url", cluster.ProxyURL != ""},
		{"insecure-skip-tls-verify", cluster.InsecureSkipTLSVerify},
		{"plain http with credentials", strings.HasPrefix(strings.ToLower(cluster.Server), "http:") && hasCredentials(user)},
	} {
		if f.used {
			found = append(found, f.name)
		}
	}

	return found
}

func hasCredentials(user *clientcmdapi.AuthInfo) bool {
	return user.Token != "" || user.Username != "" || user.Password != "" || len(user.ClientKeyData) > 0
}

// usable makes a configuration of what is left when nothing unsafe is there.
func usable(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) (*Kubeconfig, error) {
	server, err := url.Parse(cluster.Server)
	if err != nil || server.Host == "" || server.User != nil || server.Scheme != "https" && server.Scheme != "http" {
		return nil, errors.Wrap(ErrInvalidKubeconfig, "server is not the URL of one")
	}
	config := &rest.Config{
		Host: cluster.Server, BearerToken: user.Token, Username: user.Username, Password: user.Password, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cluster.TLSServerName, CAData: cluster.CertificateAuthorityData,
			CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
		DisableCompression: cluster.DisableCompression,
	}
	expires := tokenExpiry(user.Token)
	if len(config.CertData) > 0 || len(config.KeyData) > 0 {
		pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
		if err != nil {
			return nil, errors.Wrap(ErrInvalidKubeconfig, "client certificate and key do not make a pair")
		}
		if end := pair.Leaf.NotAfter; expires.IsZero() || end.Before(expires) {
			expires = end
		}
	}
	if user.Token != "" && user.Username != "" {
		return nil, errors.Wrap(ErrInvalidKubeconfig, "the user has both a token and a username")
	}
	if _, err := rest.HTTPClientFor(config); err != nil { // Its text may repeat a part of a certificate.
		return nil, errors.Wrap(ErrInvalidKubeconfig, "certificate-authority-data has no valid certificates")
	}

	return &Kubeconfig{RESTConfig: config, Expires: expires}, nil
}

// tokenExpiry reads the time out of a JSON web token. It is for planning only: the
// token is not checked, its server does that.
func tokenExpiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var said struct {
		Expires float64 `json:"exp"`
	}
	if json.Unmarshal(claims, &said) != nil || said.Expires <= 0 {
		return time.Time{}
	}

	return time.Unix(int64(said.Expires), 0)
}
