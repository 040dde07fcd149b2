package syncer_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
)

// A fakeAPIServer is an API server with a configurable identity: a UID, "missing" without
// a kube-system namespace, "proxy", or "down".
type fakeAPIServer struct {
	*httptest.Server

	identity      atomic.Value
	identityReads atomic.Int32 // who it is
	otherRequests atomic.Int32 // anything else
}

func newFakeAPIServer(t *testing.T) *fakeAPIServer {
	i := &fakeAPIServer{}
	i.identity.Store("first")
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

func (i *fakeAPIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/base/api/v1/namespaces/kube-system" {
		i.otherRequests.Add(1)
		_, _ = fmt.Fprintf(w, "%s speaks", i.identity.Load())
		return
	}
	i.identityReads.Add(1)
	switch who := i.identity.Load(); who {
	case "down":
		w.WriteHeader(http.StatusInternalServerError)
	case "proxy":
		http.NotFound(w, r)
	case "missing":
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(
			w,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,`+
				`"details":{"kind":"namespaces","name":"kube-system"}}`)
	default:
		_, _ = fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, who)
	}
}

// TestGuard verifies that lists and watches of another cluster are not returned, and that
// no request is sent once the replacement is detected.
func TestGuard(t *testing.T) {
	const pods, pod = "/base/api/v1/namespaces/a/pods", "/base/api/v1/namespaces/a/pods/b"
	cases := map[string]struct {
		reason   string
		who      string
		requests []string // method and path
		answers  []string // of the requests in order, or "" for an error
		sent     int32
		asked    int32
		replaced bool
	}{
		"List": {
			"The identity is verified before a list is returned.", "first",
			[]string{"GET " + pods}, []string{"first speaks"}, 1, 1, false,
		},
		"Watch": {
			"The identity is verified before a watch is returned.", "first",
			[]string{"GET /base/apis/g/v1/widgets?watch=true"}, []string{"first speaks"}, 1, 1, false,
		},
		"Others": {
			"Other requests cost no verification.", "first",
			[]string{"GET " + pod, "PATCH " + pod, "POST " + pods, "GET /base/api", "GET /base/apis/g/v1", "GET /base/version"},
			[]string{
				"first speaks", "first speaks", "first speaks", "first speaks", "first speaks", "first speaks",
			}, 6, 0, false,
		},
		"Replaced": {
			"The list of another cluster is not returned, and later requests are not sent.", "second",
			[]string{"GET " + pods, "PATCH " + pod, "GET " + pod}, []string{"", "", ""}, 1, 3, true,
		},
		"Emptied": {
			"A cluster without a kube-system namespace is another cluster.", "missing",
			[]string{"GET " + pods, "POST " + pods}, []string{"", ""}, 1, 2, true,
		},
		"Proxy": {
			"The 404 page of a proxy does not mean that the namespace is missing.", "proxy",
			[]string{"GET " + pods, "PATCH " + pod}, []string{"", "proxy speaks"}, 2, 1, false,
		},
		"Down": {
			"If the identity cannot be read, the list fails, but the cluster does not count as replaced.", "down",
			[]string{"GET " + pods, "PATCH " + pod}, []string{"", "down speaks"}, 2, 1, false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newFakeAPIServer(t)
			config, uid, err := syncer.Guard(t.Context(), &rest.Config{Host: server.URL + "/base"})
			if err != nil || uid != "first" {
				t.Fatalf("got %q, %v", uid, err)
			}
			c, err := rest.HTTPClientFor(config)
			if err != nil {
				t.Fatal(err)
			}
			server.identityReads.Store(0)
			server.identity.Store(tc.who)
			var last error
			for i, request := range tc.requests {
				var answer string
				if answer, last = send(t, c, server.URL, request); answer != tc.answers[i] {
					t.Errorf("%s\n%s: got %q, want %q", tc.reason, request, answer, tc.answers[i])
				}
			}
			if sent, asked := server.otherRequests.Load(), server.identityReads.Load(); sent != tc.sent || asked != tc.asked {
				t.Errorf("%s\nsent %d requests and asked %d times, want %d and %d", tc.reason, sent, asked, tc.sent, tc.asked)
			}
			if got := errors.Is(last, syncer.ErrVirtualClusterReplaced); got != tc.replaced {
				t.Errorf("%s\nlast error: %v", tc.reason, last)
			}
			server.identity.Store("first")
			if answer, err := send(t, c, server.URL, "PATCH "+pod); err != nil || answer != "first speaks" {
				t.Errorf("%s\nafter the original cluster is back: %q, %v", tc.reason, answer, err)
			}
		})
	}
}

// send sends a request such as "GET /path" and returns the body of the response.
func send(t *testing.T, c *http.Client, address, request string) (string, error) {
	t.Helper()
	var method, path string
	if _, err := fmt.Sscan(request, &method, &path); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}
