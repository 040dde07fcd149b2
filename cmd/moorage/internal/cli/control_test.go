package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// A plane is the control plane that moorage dev runs.
type plane struct {
	t      *testing.T
	server string
	http   *http.Client
}

// controlPlane returns the control plane of a provider, at its current address.
func controlPlane(t *testing.T, dir string) plane {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(dir, "cluster", "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}

	var config struct {
		Clusters []struct {
			Cluster struct {
				Server    string `json:"server"`
				Authority []byte `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}

	pair, err := tls.X509KeyPair(config.Users[0].User.Certificate, config.Users[0].User.Key)
	if err != nil {
		t.Fatal(err)
	}

	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(config.Clusters[0].Cluster.Authority)

	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{pair}}}
	t.Cleanup(transport.CloseIdleConnections)

	return plane{t, config.Clusters[0].Cluster.Server, &http.Client{Transport: transport, Timeout: wait.Patience()}}
}

// call sends a request to the API server, or applies a manifest.
func (p plane) call(method, path, text string) string {
	p.t.Helper()

	request, err := http.NewRequestWithContext(p.t.Context(), method, p.server+path, strings.NewReader(text))
	if err != nil {
		p.t.Fatal(err)
	}

	request.Header.Set("Content-Type", "application/apply-patch+yaml")

	response, err := p.http.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()

	answer, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}

	if response.StatusCode >= http.StatusMultipleChoices {
		p.t.Fatalf("%s %s: %s\n%s", method, path, response.Status, answer)
	}

	return string(answer)
}

// An identity distinguishes a control plane from others and from its restarts: the same data served again has the same
// objects.
type identity struct{ server, began, system, object string }

// identity returns the identity, including that of an object.
func (p plane) identity(object string) identity {
	p.t.Helper()

	began := regexp.MustCompile(`(?m)^process_start_time_seconds .*$`).FindString(p.call(http.MethodGet, "/metrics", ""))
	if began == "" {
		p.t.Fatal("the API server does not say when its process began")
	}

	uid := func(path string) string {
		p.t.Helper()

		var found struct{ Metadata struct{ UID string } }
		if err := json.Unmarshal([]byte(p.call(http.MethodGet, path, "")), &found); err != nil || found.Metadata.UID == "" {
			p.t.Fatalf("%s has no UID (%v)", path, err)
		}

		return found.Metadata.UID
	}

	return identity{p.server, began, uid("/api/v1/namespaces/kube-system"), uid(object)}
}

// untilReady waits until an object is Ready.
func (p plane) untilReady(object string) {
	p.t.Helper()

	var answer string

	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.t.Logf("what was to be ready:\n%s", answer)
		}
	})
	wait.Until(p.t, object+" is ready", func() bool {
		answer = p.call(http.MethodGet, object, "")

		var found struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
		if err := json.Unmarshal([]byte(answer), &found); err != nil {
			p.t.Fatal(err)
		}

		for _, c := range found.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				return true
			}
		}

		return false
	})
}
