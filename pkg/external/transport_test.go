package external

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// serves returns the URL of a server that reads a part of a request, answers so, and closes
// the connection.
func serves(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Read(make([]byte, 4096))
			_, _ = io.WriteString(connection, answer)
			_ = connection.Close()
		}
	}()

	return "http://" + listener.Addr().String()
}

// sends returns the error of a request, or of reading what answers it.
func sends(ctx context.Context, client *http.Client, method, url string) error {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.ReadAll(response.Body)

	return err
}

// TestEffectOfLostAnswers sends requests that are served, and whose answers do not arrive.
func TestEffectOfLostAnswers(t *testing.T) {
	ends, end := context.WithCancelCause(t.Context())
	end(errBoom)
	elsewhere := httptest.NewServer(http.RedirectHandler("/", http.StatusFound))
	defer elsewhere.Close()
	for name, tc := range map[string]struct {
		url   string
		ended bool
	}{
		"nothing":               {url: serves(t, "")},
		"a part of the status":  {url: serves(t, "HTTP/1.1 2")},
		"no status":             {url: serves(t, "boom\r\n\r\n")},
		"a part of the headers": {url: serves(t, "HTTP/1.1 201 Created\r\nX")},
		"a header that is none": {url: serves(t, "HTTP/1.1 201 Created\r\nBad Header\r\n\r\n")},
		"a length that is none": {url: serves(t, "HTTP/1.1 201 Created\r\nContent-Length: x\r\n\r\n")},
		"a part of the body":    {url: serves(t, "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{")},
		"a part of a chunk": {url: serves(t,
			"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{")},
		"a redirect to no URL": {url: serves(t,
			"HTTP/1.1 302 Found\r\nLocation: ://bad\r\nContent-Length: 0\r\n\r\n")},
		"redirects without end":       {url: elsewhere.URL},
		"a context, ended by a cause": {url: elsewhere.URL, ended: true},
	} {
		ctx := t.Context()
		if tc.ended {
			ctx = ends
		}
		err := errors.Wrap(sends(ctx, &http.Client{}, http.MethodPost, tc.url), "cannot create")
		if got := EffectOf(err); got != EffectPossible || IsRefused(err) {
			t.Errorf("%s: EffectOf(%v) is %d, want %d", name, err, got, EffectPossible)
		}
	}
}

// TestEffectOfNoConnection sends requests over connections that are not made, and knows it
// where the server cannot have had the request.
func TestEffectOfNoConnection(t *testing.T) {
	secure := func(config *tls.Config) string {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.TLS, server.Config.ErrorLog = config, log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)

		return server.URL
	}
	trusts := func(version uint16) *http.Transport {
		return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MaxVersion: version}}
	}
	through := func(proxy string) *http.Transport {
		return &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }}
	}
	const refuses = "127.0.0.1:1"
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes no connection
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for name, tc := range map[string]struct {
		transport *http.Transport
		url       string
		want      Effect
	}{
		"a port that is closed": {&http.Transport{}, "http://" + refuses, EffectNone},
		"a proxy, HTTPS":        {through("http://" + refuses), "https://x.invalid", EffectNone},
		"a proxy, HTTP":         {through("http://" + refuses), "http://x.invalid", EffectNone},
		"a proxy that hangs up": {through("socks5" + strings.TrimPrefix(serves(t, ""), "http")),
			"http://x.invalid", EffectNone},
		"an unknown authority": {&http.Transport{}, secure(nil), EffectNone},
		"HTTP in the place of TLS": {&http.Transport{},
			"https" + strings.TrimPrefix(serves(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "http"), EffectNone},
		"no TLS": {&http.Transport{}, "https" + strings.TrimPrefix(serves(t, "boom boom"), "http"),
			EffectNone},
		"TLS that takes too long": {&http.Transport{TLSHandshakeTimeout: time.Nanosecond},
			"https://" + silent.Addr().String(), EffectNone},
		"another version of TLS": {trusts(tls.VersionTLS12), secure(&tls.Config{MinVersion: tls.VersionTLS13}),
			EffectNone},
		"no certificate, TLS 1.2": {trusts(tls.VersionTLS12),
			secure(&tls.Config{ClientAuth: tls.RequireAnyClientCert}), EffectNone},
		"no certificate, TLS 1.3": {trusts(tls.VersionTLS13),
			secure(&tls.Config{ClientAuth: tls.RequireAnyClientCert}), EffectPossible},
	} {
		err := errors.Wrap(sends(t.Context(), &http.Client{Transport: tc.transport}, http.MethodPost, tc.url),
			"cannot create")
		if got := EffectOf(err); got != tc.want || IsRefused(err) != (tc.want == EffectNone) {
			t.Errorf("%s: EffectOf(%v) is %d, want %d", name, err, got, tc.want)
		}
	}
}
