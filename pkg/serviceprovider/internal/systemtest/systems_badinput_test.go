package systemtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

const canary = "s3cr3t-canary"

// grants plays the platform by hand: it answers the requests for the control plane of a
// garden with a Secret.
func (e *estate) grants(g *Garden, data map[string][]byte) *corev1.Secret {
	e.Helper()
	granted := func(o client.Object, more string) {
		e.Helper()
		wait.Until(e.T, "there is a request", func() bool { return !gone(e.T, platform.api, o) })
		body := `{"status":{"phase":"` + clustersv1alpha1.RequestGranted + `","observedGeneration":1` + more + `}}`
		if err := platform.api.Status().Patch(e.Context(), o,
			client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
			e.Fatal(err)
		}
	}
	granted(e.plane(g.Name), "")
	ar := e.request(g)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ar.Namespace, Name: "granted"}, Data: data}
	if err := platform.api.Create(e.Context(), secret); err != nil {
		e.Fatal(err)
	}
	granted(ar, `,"secretRef":{"name":"granted"}`)

	return secret
}

// expired returns a client certificate and its key that were valid in 1970, for a kubeconfig.
func expired(t *testing.T) string {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(3600, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, b []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}

	return "client-certificate-data: " + text("CERTIFICATE", der) + "\n    client-key-data: " +
		text("EC PRIVATE KEY", raw)
}

// TestBadInput: what the Secret of an AccessRequest may hold that cannot be used, or must not
// be. Each object says why, in two conditions and without secrets; the domain is not called;
// and a Secret that is corrected is noticed though nothing looks at Secrets by the clock.
func TestBadInput(t *testing.T) {
	e := newEstate(t, "bad")
	e.recheck = time.Hour
	e.start() // without a granter
	text, err := clusters.New("granted").WithRESTConfig(&rest.Config{
		Host: mcp.config.Host, BearerToken: canary, TLSClientConfig: rest.TLSClientConfig{CAData: mcp.config.CAData},
	}).WriteKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	server, login := "server: "+mcp.config.Host, "token: "+canary
	for name, tc := range map[string]struct{ old, now, says string }{
		"exec": {login, "exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, " +
			"interactiveMode: Never}", "uses exec"},
		"auth-provider":    {login, "auth-provider: {name: oidc}", "uses auth-provider"},
		"token-file":       {login, "tokenFile: /var/run/token", "uses tokenFile"},
		"certificate-file": {login, "client-certificate: /c.pem", "uses client-certificate"},
		"key-file":         {login, "client-key: /k.pem", "uses client-key"},
		"authority-file":   {server, server + "\n    certificate-authority: /ca.pem", "uses certificate-authority"},
		"proxy":            {server, server + "\n    proxy-url: https://proxy.example", "uses proxy-url"},
		"insecure":         {server, server + "\n    insecure-skip-tls-verify: true", "uses insecure-skip-tls-verify"},
		"impersonation":    {login, "as: admin", "uses act-as"},
		"garbage":          {good, "token: " + canary + ": x", "cannot parse kubeconfig"},
		"no-server":        {server, "server: nowhere", "server is not the URL of one"},
		"expired":          {login, expired(t), "have expired"},
		"no-key":           {good, "", "there is no key kubeconfig of Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			e.T = t
			g := e.create(name)
			bad := strings.Replace(good, tc.old, tc.now, 1)
			if bad == good {
				t.Fatalf("%q is not in the kubeconfig", tc.old)
			}
			data := map[string][]byte{"kubeconfig": []byte(bad)}
			if bad == "" {
				data = map[string][]byte{"config": text}
			}
			s := e.grants(g, data)
			e.says(g, serviceprovider.ConditionClusterAccessReady, serviceprovider.ReasonClusterAccessFailed)
			for _, kind := range []string{serviceprovider.ConditionClusterAccessReady,
				serviceprovider.ServiceProviderConditionReady} {
				c := meta.FindStatusCondition(g.Status.Conditions, kind)
				if c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, tc.says) ||
					strings.Contains(c.Message, canary) || len(c.Message) > 1<<10 {
					t.Errorf("%s: want it to say %q, got %+v", kind, tc.says, c)
				}
			}
			if e.gardener.called("CreateOrUpdate", name) != 0 {
				t.Error("the domain was called without access")
			}
			merge(t, platform.api, s, `{"data":{"kubeconfig":"`+base64.StdEncoding.EncodeToString(text)+`"}}`)
			e.says(g, serviceprovider.ConditionClusterAccessReady, serviceprovider.ReasonGranted)
		})
	}
	e.T = t

	// What points nowhere, or is refused, is access all right: the domain finds out.
	for name, tc := range map[string]struct{ old, now, says string }{
		"nowhere": {server, "server: https://127.0.0.1:1", "connection refused"},
		"refused": {login, login, "provide credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			e.T = t
			g := e.create(name)
			e.grants(g, map[string][]byte{"kubeconfig": []byte(strings.Replace(good, tc.old, tc.now, 1))})
			e.says(g, serviceprovider.ServiceProviderConditionReady, "Planting")
			if c := meta.FindStatusCondition(g.Status.Conditions,
				serviceprovider.ServiceProviderConditionReady); !strings.Contains(c.Message, tc.says) {
				t.Errorf("want %q, got %+v", tc.says, c)
			}
		})
	}
	e.T = t
}
