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

// Errors of ParseKubeconfig to branch on. A retry with the same kubeconfig does not help.
var (
	// ErrUnsafeKubeconfig means that a kubeconfig has a refused field. Errors of ParseKubeconfig wrap it.
	ErrUnsafeKubeconfig = errors.New("kubeconfig is not safe to use")

	// ErrInvalidKubeconfig means that a kubeconfig cannot work. Errors of ParseKubeconfig wrap it.
	ErrInvalidKubeconfig = errors.New("kubeconfig is not valid")
)

// maxKubeconfig is the maximum size of a kubeconfig. A Secret cannot contain more.
const maxKubeconfig = 1 << 20

// A Kubeconfig is the result of ParseKubeconfig.
type Kubeconfig struct {
	// RESTConfig is the configuration of a client. It has no rate limit, because API servers have priority and fairness.
	RESTConfig *rest.Config

	// Expires is the time at which the client certificate or the token expires, whichever is earlier. The zero time means
	// that it is unknown.
	Expires time.Time
}

// ParseKubeconfig parses one context of an untrusted kubeconfig. If the argument context is empty, ParseKubeconfig
// parses the current context. It ignores other contexts.
//
// A kubeconfig must not use the files, environment variables and permissions of the program. Therefore ParseKubeconfig
// refuses a context with ErrUnsafeKubeconfig if the context does one of these:
//
//   - runs a command (exec) or a plugin (auth-provider),
//   - reads files (tokenFile, certificate-authority, client-certificate, client-key),
//   - uses a proxy (proxy-url),
//   - disables verification of the server (insecure-skip-tls-verify, credentials over plain http),
//   - impersonates a user (act-as).
//
// No error contains values of the kubeconfig. The error names the problem and, if the parser reports it, the line or
// field.
func ParseKubeconfig(data []byte, context string) (*Kubeconfig, error) {
	if len(data) == 0 || len(data) > maxKubeconfig {
		return nil, errors.Wrapf(ErrInvalidKubeconfig, "kubeconfig has %d bytes", len(data))
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		return nil, errors.Wrap(ErrInvalidKubeconfig, "cannot parse kubeconfig: "+describeParseError(data, err))
	}
	selected, err := selectContext(config, context)
	if err != nil {
		return nil, err
	}
	cluster, user := config.Clusters[selected.Cluster], config.AuthInfos[selected.AuthInfo]
	if cluster == nil {
		return nil, errors.Wrap(ErrInvalidKubeconfig, "kubeconfig has no cluster of the name in the context")
	}
	if user == nil {
		return nil, errors.Wrap(ErrInvalidKubeconfig, "kubeconfig has no user of the name in the context")
	}
	if fields := unsafeFields(cluster, user); len(fields) > 0 {
		return nil, errors.Wrapf(ErrUnsafeKubeconfig, "the context uses %s", strings.Join(fields, ", "))
	}

	return safeKubeconfig(cluster, user)
}

// selectContext returns the context with the name, or the current context if the name is empty.
func selectContext(config *clientcmdapi.Config, name string) (*clientcmdapi.Context, error) {
	selected := config.Contexts[cmp.Or(name, config.CurrentContext)]
	switch {
	case selected != nil:
		return selected, nil
	case name != "":
		return nil, errors.Wrapf(ErrInvalidKubeconfig, "kubeconfig has no context %q", name)
	case config.CurrentContext == "":
		return nil, errors.Wrap(ErrInvalidKubeconfig, "kubeconfig has no current-context")
	default:
		return nil, errors.Wrap(ErrInvalidKubeconfig, "kubeconfig has no context of the name in current-context")
	}
}

// unsafeFields returns the names of the refused fields that are set.
func unsafeFields(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) []string {
	impersonates := user.Impersonate != "" || user.ImpersonateUID != "" ||
		len(user.ImpersonateGroups) > 0 || len(user.ImpersonateUserExtra) > 0
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

// hasCredentials reports whether a user has credentials.
func hasCredentials(user *clientcmdapi.AuthInfo) bool {
	return user.Token != "" || user.Username != "" || user.Password != "" || len(user.ClientKeyData) > 0
}

// safeKubeconfig returns the configuration of a context without refused fields.
func safeKubeconfig(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) (*Kubeconfig, error) {
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
	if _, err := rest.HTTPClientFor(config); err != nil { // Its text may contain a part of a certificate.
		return nil, errors.Wrap(ErrInvalidKubeconfig, "certificate-authority-data has no valid certificates")
	}

	return &Kubeconfig{RESTConfig: config, Expires: expires}, nil
}

// tokenExpiry returns the expiry of a JSON web token, or zero if it has none. The token is not verified, so the expiry
// is for scheduling only.
func tokenExpiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var fields struct {
		Expires float64 `json:"exp"`
	}
	if json.Unmarshal(claims, &fields) != nil || fields.Expires <= 0 {
		return time.Time{}
	}

	return time.Unix(int64(fields.Expires), 0)
}
