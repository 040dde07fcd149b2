//go:build !race

// As with chart_test.go, what runs here are other programs.

package dev

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// A container is the provider as a chart deploys it.
type container struct {
	Args  []string
	Ports []struct {
		Name          string
		ContainerPort int
	}
	LivenessProbe, ReadinessProbe struct {
		HTTPGet struct{ Path, Port string }
	}
}

// deployed returns the currently deployed container, and the name of its metrics port.
func deployed(t *testing.T, s *session) (c container, metrics string) {
	t.Helper()

	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []container }
			}
		}
	}
	if err := s.cluster.call(t.Context(), http.MethodGet,
		"/apis/apps/v1/namespaces/providers/deployments/cloud-provider-cloud", nil, &deployment); err != nil {
		t.Fatal(err)
	}

	var service struct {
		Spec struct{ Ports []struct{ TargetPort string } }
	}
	if err := s.cluster.call(t.Context(), http.MethodGet, "/api/v1/namespaces/providers/services/cloud-provider-cloud",
		nil, &service); err != nil {
		t.Fatal(err)
	}

	if len(deployment.Spec.Template.Spec.Containers) != 1 || len(service.Spec.Ports) != 1 {
		t.Fatalf("one container with one port is a service, and not %+v of %+v", service, deployment)
	}

	return deployment.Spec.Template.Spec.Containers[0], service.Spec.Ports[0].TargetPort
}

// listens returns the port at which the provider listens with the flags of the container, by a flag or by default.
func (c container) listens(t *testing.T, program, name string) int {
	t.Helper()

	help, err := exec.Command(program, "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, help)
	}

	address := regexp.MustCompile(`-` + name + ` string\n.*\(default ":([0-9]+)"\)`).FindStringSubmatch(string(help))
	for _, arg := range c.Args {
		if given := regexp.MustCompile(`^--` + name + `=:([0-9]+)$`).FindStringSubmatch(arg); given != nil {
			address = given
		}
	}

	port := 0
	if address != nil {
		_, err = fmt.Sscan(address[1], &port)
	}

	if port == 0 || err != nil {
		t.Fatalf("with %q nothing says where --%s is (%v):\n%s", c.Args, name, err, help)
	}

	return port
}

// A pod is a provider that runs as a container, with its ports at other addresses, because its own may be in use on
// this machine.
type pod struct {
	container

	flags   []string // in addition to those of the container
	at      map[int]string
	metrics string
}

// inPod returns how to run the program as it is deployed.
func inPod(t *testing.T, s *session) pod {
	t.Helper()

	p := pod{at: map[int]string{}}
	p.container, p.metrics = deployed(t, s)

	for _, name := range []string{"health-probe-bind-address", "metrics-bind-address"} {
		address := freeAddress(t)
		p.at[p.listens(t, filepath.Join(s.Dir, "bin", "provider"), name)] = address
		p.flags = append(p.flags, "--"+name, address)
	}

	return p
}

// url returns the URL of a path on the port of that name.
func (p pod) url(t *testing.T, scheme, port, path string) string {
	t.Helper()

	for _, known := range p.Ports {
		if at := p.at[known.ContainerPort]; known.Name == port && at != "" {
			return scheme + "://" + at + path
		}
	}

	t.Fatalf("%s is asked for on the port %q, and the provider listens at %v: %+v", path, port, p.at, p.Ports)

	return ""
}

// asked sends the probes of a kubelet and the scrape of Prometheus, with that scheme and, if it is not empty, that
// token. Without the token the provider must refuse the scrape.
func (p pod) asked(t *testing.T, c *child, scheme, token string) {
	t.Helper()

	// as the chart configures Prometheus
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()

	user := &http.Client{Transport: transport, Timeout: wait.Patience()}

	for url, want := range map[string]string{
		p.url(t, "http", p.LivenessProbe.HTTPGet.Port, p.LivenessProbe.HTTPGet.Path):   "ok",
		p.url(t, "http", p.ReadinessProbe.HTTPGet.Port, p.ReadinessProbe.HTTPGet.Path): "ok",
		p.url(t, scheme, p.metrics,
			"/metrics"): "\nmoorage_managed_passes_total{kind=\"Bucket.cloud.example.org\"",
	} {
		if err := c.awaits(t.Context(), wait.Budget(t), func() error { return says(t, user, token, url, want) }); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}

	if err := says(t, user, "", p.url(t, scheme, p.metrics, "/metrics"), "moorage_"); token != "" &&
		(err == nil || !strings.HasPrefix(err.Error(), "401 ")) {
		t.Errorf("metrics are asked for without a token: %v", err)
	}
}

// says returns an error unless the body at a URL, requested with that token if it is not empty, contains a text.
func says(t *testing.T, user *http.Client, token, url, want string) error {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}

	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}

	response, err := user.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()

	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}

	if response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
		return fmt.Errorf("%s, without %q:\n%s", response.Status, want, body)
	}

	return nil
}
