package connect

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	requestTimeout  = 10 * time.Second
	maxResponseSize = 64 << 10
)

// sendRequest sends a request to a cluster and returns the response. An error is a
// connectError.
func sendRequest(ctx context.Context, known *record, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	unavailable := func(err error) error { return &connectError{commonv1.ReasonConnectionUnavailable, err} }
	client, err := known.httpClient()
	if err != nil {
		return nil, unavailable(err)
	}
	request, err := http.NewRequestWithContext(
		ctx, http.MethodGet, strings.TrimSuffix(known.input.RESTConfig.Host, "/")+path, nil)
	if err != nil {
		return nil, unavailable(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, unavailable(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponseSize))
	switch {
	case err != nil:
		return nil, unavailable(err)
	case response.StatusCode == http.StatusUnauthorized:
		return nil, &connectError{
			commonv1.ReasonConnectionUnauthorized, errors.New("the server does not accept the credentials"),
		}
	case response.StatusCode == http.StatusForbidden:
		return nil, nil // the credentials are valid
	case response.StatusCode != http.StatusOK:
		return nil, unavailable(errors.Errorf(
			"the server answers %s with %d %s", path, response.StatusCode, http.StatusText(response.StatusCode)))
	default:
		return body, nil
	}
}

// httpClient returns the HTTP client of a cluster. The record holds the client until the settings change. Otherwise
// client-go would make a new transport with new connections as soon as the previous transport is not referenced any
// more.
func (r *record) httpClient() (*http.Client, error) {
	var err error
	if r.client == nil {
		r.client, err = rest.HTTPClientFor(r.input.RESTConfig)
	}

	return r.client, err
}

// closeIdleConnections closes the idle connections of the HTTP client.
func (r *record) closeIdleConnections() {
	if r.client != nil {
		utilnet.CloseIdleConnectionsFor(r.client.Transport)
		r.client = nil
	}
}

// versionOf returns the version and the architecture in the response to /version.
func versionOf(answer []byte) (version, arch string) {
	var fields struct{ GitVersion, Platform string }
	if json.Unmarshal(answer, &fields) != nil {
		return "", ""
	}
	_, arch, _ = strings.Cut(fields.Platform, "/")

	return limitLength(fields.GitVersion), limitLength(arch)
}

// limitLength returns the text, or "" if it is too long.
func limitLength(s string) string {
	if len(s) > 100 {
		return ""
	}

	return s
}
