package clusters

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/moorage-dev/moorage/pkg/errors"
)

const secret = "s3cr3t-of-the-user"

// kubeconfig returns a valid kubeconfig to which a change was applied.
func kubeconfig(t *testing.T, change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	cluster, user := &clientcmdapi.Cluster{Server: "https://east.example:6443"}, &clientcmdapi.AuthInfo{Token: secret}
	change(cluster, user)
	evil := &clientcmdapi.AuthInfo{
		Exec: &clientcmdapi.ExecConfig{Command: "rm", APIVersion: "client.authentication.k8s.io/v1"},
	}
	out, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: "c",
		Clusters:       map[string]*clientcmdapi.Cluster{"c": cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": user, "evil": evil},
		Contexts: map[string]*clientcmdapi.Context{
			"c": {Cluster: "c", AuthInfo: "u"}, "evil": {Cluster: "c", AuthInfo: "evil"}, "empty": {}, "nobody": {Cluster: "c"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// certificate returns a client certificate that expires at the given time, and its key.
func certificate(t *testing.T, until time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "batch"}, NotBefore: time.Unix(0, 0), NotAfter: until,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}

	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(
		&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})
}

func TestUnsafeKubeconfigs(t *testing.T) {
	type change = func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo)
	for name, tc := range map[string]struct {
		reason string
		change change
	}{
		"exec": {"it would run a program", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "true", APIVersion: "client.authentication.k8s.io/v1"}
		}},
		"auth-provider": {"it would run a plugin", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
		}},
		"tokenFile": {
			"it would send the token of the program itself",
			func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.TokenFile = "/var/run/token" },
		},
		"client-certificate": {
			"it would read a file", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientCertificate = "/c.pem" },
		},
		"client-key": {
			"it would read a file", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientKey = "/k.pem" },
		},
		"certificate-authority": {
			"it would read a file",
			func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthority = "/ca.pem" },
		},
		"proxy-url": {
			"the proxy would receive all requests",
			func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.ProxyURL = "http://proxy.example" },
		},
		"insecure-skip-tls-verify": {
			"any server could answer",
			func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.InsecureSkipTLSVerify = true },
		},
		"plain http": {
			"the credentials could be intercepted",
			func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "HTTP://east.example" },
		},
		"act-as": {
			"it would impersonate a user", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Impersonate = "admin" },
		},
		"act-as ": {"it would be in a group", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ImpersonateGroups = []string{"system:masters"}
		}},
		"act-as  ": {"it would be a UID", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ImpersonateUID = "1" }},
		"act-as   ": {"it would have more", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ImpersonateUserExtra = map[string][]string{"a": {"b"}}
		}},
	} {
		_, err := ParseKubeconfig(kubeconfig(t, tc.change), "")
		if !errors.Is(err, ErrUnsafeKubeconfig) || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%s: %s: want it refused by name, got %v", name, tc.reason, err)
		}
	}
}

func TestInvalidKubeconfigs(t *testing.T) {
	nothing := func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {}
	cert, _ := certificate(t, time.Unix(100, 0))
	_, other := certificate(t, time.Unix(100, 0))
	server := func(s string) []byte {
		return kubeconfig(t, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = s })
	}
	for name, tc := range map[string]struct {
		data    []byte
		context string
	}{
		"empty":           {nil, ""},
		"too large":       {make([]byte, maxKubeconfig+1), ""},
		"no YAML":         {[]byte("token: " + secret + ": " + secret), ""},
		"another kind":    {[]byte(`{"apiVersion":"v1","kind":"Secret","data":{"token":"` + secret + `"}}`), ""},
		"wrong type":      {[]byte(`{"users":[{"name":"u","user":{"token":["` + secret + `"]}}]}`), ""},
		"no such context": {kubeconfig(t, nothing), "west"},
		"no cluster":      {kubeconfig(t, nothing), "empty"},
		"no user":         {kubeconfig(t, nothing), "nobody"},
		"no server":       {server(""), ""},
		"no URL":          {server("https://%zz"), ""},
		"no address":      {server("east.example"), ""},
		"userinfo":        {server("https://u:" + secret + "@east.example"), ""},
		"no pair": {kubeconfig(t, func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificateData, u.ClientKeyData = cert, other
		}), ""},
		"no authority": {kubeconfig(t, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData = []byte("nothing")
		}), ""},
	} {
		_, err := ParseKubeconfig(tc.data, tc.context)
		if !errors.Is(err, ErrInvalidKubeconfig) {
			t.Errorf("%s: want %v, got %v", name, ErrInvalidKubeconfig, err)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error contains the secret: %v", name, err)
		}
	}
}

func TestParseKubeconfig(t *testing.T) {
	token := func(claims string) string {
		return "x." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".y"
	}
	cert, key := certificate(t, time.Unix(1000, 0))
	for name, tc := range map[string]struct {
		change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)
		want   time.Time
	}{
		"opaque token": {func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {}, time.Time{}},
		"web token": {
			func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Token = token(`{"exp":500}`) }, time.Unix(500, 0),
		},
		"without end": {func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Token = token(`{}`) }, time.Time{}},
		"no claims":   {func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Token = "a.%.c" }, time.Time{}},
		"certificate": {func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificateData, u.ClientKeyData = cert, key
		}, time.Unix(1000, 0)},
		"the first of both": {func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificateData, u.ClientKeyData, u.Token = cert, key, token(`{"exp":500}`)
		}, time.Unix(500, 0)},
		"plain http without credentials": {
			func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { c.Server, u.Token = "http://127.0.0.1", "" }, time.Time{},
		},
	} {
		k, err := ParseKubeconfig(kubeconfig(t, tc.change), "c")
		if err != nil || !k.Expires.Equal(tc.want) {
			t.Errorf("%s: want it to expire at %v, got %+v, %v", name, tc.want, k, err)
		}
	}
	k, err := ParseKubeconfig(kubeconfig(t, func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {}), "")
	if err != nil || k.RESTConfig.Host != "https://east.example:6443" || k.RESTConfig.BearerToken != secret ||
		k.RESTConfig.QPS != -1 {
		t.Errorf("got %v, %v", k, err)
	}
	if shown := fmt.Sprintf("%+v", k.RESTConfig); strings.Contains(shown, secret) {
		t.Error("printing the configuration tells the secret")
	}
}

// TestKubeconfigErrors verifies that an error names the problem and its place, and contains no
// value of the kubeconfig. Errors of the parsers contain values: the name of an anchor, a kind,
// a tagged value, and all users if one is duplicated.
func TestKubeconfigErrors(t *testing.T) {
	const canary = "s3cr3tOfTheUser"
	whole := func(context, cluster, server, user string) string {
		return fmt.Sprintf(
			`{"current-context":%q,"clusters":[{"name":"c","cluster":{"server":"https://east.example:6443"%s}}],`+
				`"users":[{"name":"u","user":{%s}}],"contexts":[{"name":"`+canary+`","context":{"cluster":%q,"user":"u"}},`+
				`{"name":"n","context":{"cluster":"c","user":"`+canary+`"}}]}`,
			context, server, user, cluster)
	}
	for name, tc := range map[string]struct{ data, want string }{
		"anchor": {
			"kind: Config\nusers:\n- name: u\n  user:\n    token: *" + canary,
			"line 5: an alias without its anchor: put quotes round a value that begins with *",
		},
		"anchor in itself": {"a: &" + canary + " [*" + canary + "]", "line 1: an anchor that contains itself"},
		"kind":             {`{"apiVersion":"v1","kind":"` + canary + `"}`, "apiVersion and kind are not v1 and Config"},
		"version":          {`{"apiVersion":"` + canary + `","kind":"Config"}`, "apiVersion and kind are not v1 and Config"},
		"no version": {
			`{"apiVersion":"a/b/` + canary + `","kind":"Config"}`, "apiVersion and kind are not v1 and Config",
		},
		"kind is a list": {`{"kind":["` + canary + `"]}`, "kind is of the wrong type"},
		"user twice": {
			`{"users":[{"name":"u","user":{"token":"` + canary + `"}},{"name":"u","user":{}}]}`, "users has a name twice",
		},
		"cluster twice": {
			`{"clusters":[{"name":"` + canary + `"},{"name":"` + canary + `"}]}`, "clusters has a name twice",
		},
		"tag":   {"a: !!int " + canary, "it is not valid YAML"},
		"key":   {"? [" + canary + "]\n: b", "it is not valid YAML"},
		"tab":   {"a: b\n\t" + canary + ": x", "line 2: found a tab character that violates indentation"},
		"colon": {"a: b\nc: " + canary + ": x", "line 2: mapping values are not allowed in this context"},
		"end":   {`{"users":[{"name":"u","user":{"token":"` + canary, "found unexpected end of stream"},
		"text":  {canary, "it is not a mapping"},
		"list":  {"- " + canary, "it is not a mapping"},
		"field": {
			`{"users":[{"name":"u","user":{"token":["` + canary + `"]}}]}`, "users.user.token is of the wrong type",
		},
		"number": {
			`{"users":[{"name":"u","user":{"token":4711471147114711}}]}`, "users.user.token is of the wrong type",
		},
		"base64": {
			`{"users":[{"name":"u","user":{"client-key-data":"` + canary + `!"}}]}`,
			"a field whose name ends with -data is not base64",
		},
		"current-context": {whole(canary+"1", "c", "", ""), "kubeconfig has no context of the name in current-context"},
		"no context":      {whole("", "c", "", ""), "kubeconfig has no current-context"},
		"cluster":         {whole(canary, canary, "", ""), "kubeconfig has no cluster of the name in the context"},
		"user":            {whole("n", "c", "", ""), "kubeconfig has no user of the name in the context"},
		"unsafe":          {whole(canary, "c", "", `"tokenFile":"/`+canary+`"`), "the context uses tokenFile"},
		"both": {
			whole(canary, "c", "", `"token":"`+canary+`","username":"u","password":"`+canary+`"`),
			"the user has both a token and a username",
		},
		"authority": {
			whole(canary, "c", `,"certificate-authority-data":"`+base64.StdEncoding.EncodeToString([]byte(canary))+`"`, ""),
			"certificate-authority-data has no valid certificates",
		},
		"certificate, key ": {
			whole(canary, "c", "", `"client-certificate-data":"`+base64.StdEncoding.EncodeToString([]byte(canary))+`"`),
			"client certificate and key do not make a pair",
		},
	} {
		_, err := ParseKubeconfig([]byte(tc.data), "")
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: want an error with %q, got %v", name, tc.want, err)
		}
		for _, secret := range []string{
			canary, strings.ToLower(canary), base64.StdEncoding.EncodeToString([]byte(canary)), "4711",
		} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error repeats it: %v", name, err)
			}
		}
	}
}

// FuzzParseKubeconfig verifies that the result is an error of a documented kind, or a
// configuration that uses nothing of the machine.
func FuzzParseKubeconfig(f *testing.F) {
	f.Add(
		[]byte(
			`{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],` +
				`"clusters":[{"name":"c","cluster":{"server":"https://a"}}],"users":[{"name":"u","user":{"token":"t"}}]}`))
	f.Add([]byte(`{"users":[{"name":"u","user":{"exec":{"command":"rm"}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := ParseKubeconfig(data, "")
		if err != nil {
			if !errors.Is(err, ErrInvalidKubeconfig) && !errors.Is(err, ErrUnsafeKubeconfig) {
				t.Errorf("an error of no kind: %v", err)
			}

			return
		}
		c := k.RESTConfig
		if c.ExecProvider != nil || c.AuthProvider != nil || c.BearerTokenFile != "" || c.CAFile+c.CertFile+c.KeyFile != "" ||
			c.Insecure || c.Proxy != nil || c.Impersonate.UserName != "" {
			t.Errorf("unsafe: %+v", c)
		}
	})
}
