package dev

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// A cluster is a client of an API server, as far as applying files needs one. It does without the libraries of
// Kubernetes, because they are large and this is little.
type cluster struct {
	server string
	http   *http.Client
}

// open returns the cluster of a kubeconfig of devcluster.
func open(kubeconfig string) (*cluster, error) {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
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
		return nil, fmt.Errorf("cannot understand %s: %w", kubeconfig, err)
	}

	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return nil, fmt.Errorf("%s is not as devcluster writes it", kubeconfig)
	}

	pair, err := tls.X509KeyPair(config.Users[0].User.Certificate, config.Users[0].User.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate in %s: %w", kubeconfig, err)
	}

	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(config.Clusters[0].Cluster.Authority)

	return &cluster{
		server: config.Clusters[0].Cluster.Server,
		http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		}},
	}, nil
}

// An object is one document of a file.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`

	text []byte
}

// defines returns an empty object of each kind that a definition defines.
func (o object) defines() []object {
	var definition struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if o.Kind != "CustomResourceDefinition" || yaml.Unmarshal(o.text, &definition) != nil {
		return nil
	}

	var out []object

	for _, v := range definition.Spec.Versions {
		if v.Served {
			out = append(out, object{APIVersion: definition.Spec.Group + "/" + v.Name, Kind: definition.Spec.Names.Kind})
		}
	}

	return out
}

// read returns the objects in the files that match the pattern and are not hidden.
func read(pattern string) ([]object, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}

	var out []object

	for _, file := range files {
		if !applied(filepath.Base(file)) {
			continue
		}

		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}

		for part := range strings.SplitSeq("\n"+string(text), "\n---\n") {
			o := object{text: []byte(part)}
			if err := yaml.Unmarshal(o.text, &o); err != nil {
				return nil, fmt.Errorf("cannot understand %s: %w", file, err)
			}

			if o.Kind != "" {
				out = append(out, o)
			}
		}
	}

	return out, nil
}

// apply creates or changes objects, as kubectl apply --server-side does. It waits until the kinds that the objects
// define are served.
func (c *cluster) apply(ctx context.Context, objects []object) error {
	for _, o := range objects {
		where, err := c.await(ctx, o)
		if err != nil {
			return fmt.Errorf("cannot apply the %s %s: %w", o.Kind, o.Metadata.Name, err)
		}

		if err := c.call(ctx, http.MethodPatch, where+"?fieldManager=moorage&force=true", o.text, nil); err != nil {
			return fmt.Errorf("cannot apply the %s %s: %w", o.Kind, o.Metadata.Name, err)
		}
	}

	return nil
}

// served waits until the kinds that these definitions define are served: requests before that fail.
func (c *cluster) served(ctx context.Context, definitions []object) error {
	for _, d := range definitions {
		for _, kind := range d.defines() {
			if _, err := c.await(ctx, kind); err != nil {
				return fmt.Errorf("waited in vain for the kind %s: %w", kind.Kind, err)
			}
		}
	}

	return nil
}

// errUnknown is returned for a kind that is not served.
var errUnknown = errors.New("the API server does not know the kind")

// await returns the path of an object as soon as its kind is served.
func (c *cluster) await(ctx context.Context, o object) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()

	for {
		where, err := c.path(ctx, o)
		if err == nil {
			return where, nil
		}

		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// path finds the path of an object by discovery.
func (c *cluster) path(ctx context.Context, o object) (string, error) {
	base := path.Join("/apis", o.APIVersion)
	if !strings.Contains(o.APIVersion, "/") {
		base = path.Join("/api", o.APIVersion)
	}

	var served struct {
		Resources []struct {
			Name       string `json:"name"`
			Kind       string `json:"kind"`
			Namespaced bool   `json:"namespaced"`
		} `json:"resources"`
	}
	if err := c.call(ctx, http.MethodGet, base, nil, &served); err != nil {
		return "", err
	}

	for _, r := range served.Resources {
		switch {
		case r.Kind != o.Kind || strings.Contains(r.Name, "/"):
		case r.Namespaced && o.Metadata.Namespace == "":
			return path.Join(base, "namespaces/default", r.Name, o.Metadata.Name), nil
		case r.Namespaced:
			return path.Join(base, "namespaces", o.Metadata.Namespace, r.Name, o.Metadata.Name), nil
		default:
			return path.Join(base, r.Name, o.Metadata.Name), nil
		}
	}

	return "", errUnknown
}

// ready returns nil if an object is Ready in its current generation, and otherwise an error that says why it is not.
func (c *cluster) ready(ctx context.Context, o object) error {
	where, err := c.path(ctx, o)
	if err != nil {
		return err
	}

	var found struct {
		Metadata struct {
			Generation int64 `json:"generation"`
		} `json:"metadata"`
		Status struct {
			ObservedGeneration int64 `json:"observedGeneration"`

			Conditions []struct {
				Type    string `json:"type"`
				Status  string `json:"status"`
				Reason  string `json:"reason"`
				Message string `json:"message"`
			} `json:"conditions"`
		} `json:"status"`
	}
	if err := c.call(ctx, http.MethodGet, where, nil, &found); err != nil {
		return err
	}

	ready, why := false, errors.New("it is not Ready yet")

	for _, condition := range found.Status.Conditions {
		switch {
		case condition.Type == "Ready" && condition.Status == "True":
			ready = found.Status.ObservedGeneration == found.Metadata.Generation
		case condition.Type == "Synced" && condition.Status == "False":
			why = fmt.Errorf("the condition Synced is False, %s: %s", condition.Reason, condition.Message)
		}
	}

	if ready {
		return nil
	}

	return why
}

func (c *cluster) call(ctx context.Context, method, where string, body []byte, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.server+where, bytes.NewReader(body))
	if err != nil {
		return err
	}

	if body != nil {
		request.Header.Set("Content-Type", "application/apply-patch+yaml")
	}

	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}

	if response.StatusCode >= http.StatusMultipleChoices {
		var status struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(text, &status)

		return fmt.Errorf("the API server answers %s: %s", response.Status, status.Message)
	}

	if answer == nil {
		return nil
	}

	return json.Unmarshal(text, answer)
}
