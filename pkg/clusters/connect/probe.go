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
	askTimeout = 10 * time.Second
	maxAnswer  = 64 << 10
)

// ask sends a request to a cluster, and returns the answer. An error is a flaw.
func ask(ctx context.Context, known *record, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	unavailable := func(err error) error { return &flaw{commonv1.ReasonConnectionUnavailable, err} }
	client, err := known.dial()
	if err != nil {
		return nil, unavailable(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(known.in.RESTConfig.Host, "/")+path, nil)
	if err != nil {
		return nil, unavailable(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, unavailable(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, unavailable(err)
	case response.StatusCode == http.StatusUnauthorized:
		return nil, &flaw{commonv1.ReasonConnectionUnauthorized, errors.New("the server does not accept the credentials")}
	case response.StatusCode == http.StatusForbidden:
		return nil, nil // it knows us, and has answered
	case response.StatusCode != http.StatusOK:
		return nil, unavailable(errors.Errorf("the server answers %s with %d %s", path, response.StatusCode, http.StatusText(response.StatusCode)))
	default:
		return body, nil
	}
}

// dial returns what a cluster is asked with. It is kept as long as the settings, since
// client-go makes another one, with connections of its own, when nobody has one any more.
func (r *record) dial() (*http.Client, error) {
	var err error
	if r.http == nil {
		r.http, err = rest.HTTPClientFor(r.in.RESTConfig)
	}

	return r.http, err
}

// hangUp closes the connections that a cluster was asked over.
func (r *record) hangUp() {
	if r.http != nil {
		utilnet.CloseIdleConnectionsFor(r.http.Transport)
		r.http = nil
	}
}

// versionOf reads the answer to /version: what runs there, and on which architecture.
func versionOf(answer []byte) (version, arch string) {
	var said struct{ GitVersion, Platform string }
	if json.Unmarshal(answer, &said) != nil {
		return "", ""
	}
	_, arch, _ = strings.Cut(said.Platform, "/")

	return short(said.GitVersion), short(arch)
}

// short drops what is too long to be meant.
func short(s string) string {
	if len(s) > 100 {
		return ""
	}

	return s
}
