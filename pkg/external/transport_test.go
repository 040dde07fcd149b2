package external

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Serves returns the URL of a server that reads a part of a request, answers so, and closes
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

// Sends returns the error of a request, or of reading what answers it.
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
		ctx context.Context
		url string
	}{
		"nothing":                     {url: serves(t, "")},
		"a part of the status":        {url: serves(t, "HTTP/1.1 2")},
		"no status":                   {url: serves(t, "boom\r\n\r\n")},
		"a part of the headers":       {url: serves(t, "HTTP/1.1 201 Created\r\nX")},
		"a header that is none":       {url: serves(t, "HTTP/1.1 201 Created\r\nBad Header\r\n\r\n")},
		"a length that is none":       {url: serves(t, "HTTP/1.1 201 Created\r\nContent-Length: x\r\n\r\n")},
		"a part of the body":          {url: serves(t, "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{")},
		"a part of a chunk":           {url: serves(t, "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{")},
		"a redirect to no URL":        {url: serves(t, "HTTP/1.1 302 Found\r\nLocation: ://bad\r\nContent-Length: 0\r\n\r\n")},
		"redirects without end":       {url: elsewhere.URL},
		"a context, ended by a cause": {ctx: ends, url: elsewhere.URL},
	} {
		ctx := tc.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		err := errors.Wrap(sends(ctx, &http.Client{}, http.MethodPost, tc.url), "cannot create")
		if got := EffectOf(err); got != EffectPossible || IsRefused(err) {
			t.Errorf("%s: EffectOf(%v) is %d, want %d", name, err, got, EffectPossible)
		}
	}
}
