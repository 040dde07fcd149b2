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

// impostor is an API server that says it is whoever it is told to be: a UID, "nobody"
// without a kube-system namespace, or "down".
type impostor struct {
	*httptest.Server

	who   atomic.Value
	asked atomic.Int32 // who it is
	other atomic.Int32 // anything else
}

func newImpostor(t *testing.T) *impostor {
	i := &impostor{}
	i.who.Store("first")
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

func (i *impostor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/base/api/v1/namespaces/kube-system" {
		i.other.Add(1)
		_, _ = fmt.Fprintf(w, "%s speaks", i.who.Load())
		return
	}
	i.asked.Add(1)
	switch who := i.who.Load(); who {
	case "down":
		w.WriteHeader(http.StatusInternalServerError)
	case "proxy":
		http.NotFound(w, r)
	case "nobody":
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"kind":"namespaces","name":"kube-system"}}`)
	default:
		_, _ = fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, who)
	}
}

// TestGuard: nobody sees what another cluster lists, and once it is noticed nothing is
// sent to it.
func TestGuard(t *testing.T) {
	const pods, pod = "/base/api/v1/namespaces/a/pods", "/base/api/v1/namespaces/a/pods/b"
	cases := map[string]struct {
		reason   string
		who      string
		requests []string // method and path
		heard    []string // what the last one answers, or "" for an error
		sent     int32
		asked    int32
		replaced bool
	}{
		"List": {
			"Before a list is seen, it is asked who answers.", "first",
			[]string{"GET " + pods}, []string{"first speaks"}, 1, 1, false,
		},
		"Watch": {
			"Before a watch is seen, too.", "first",
			[]string{"GET /base/apis/g/v1/boats?watch=true"}, []string{"first speaks"}, 1, 1, false,
		},
		"Others": {
			"What fills no cache costs nothing.", "first",
			[]string{"GET " + pod, "PATCH " + pod, "POST " + pods, "GET /base/api", "GET /base/apis/g/v1", "GET /base/version"},
			[]string{"first speaks", "first speaks", "first speaks", "first speaks", "first speaks", "first speaks"}, 6, 0, false,
		},
		"Replaced": {
			"What another cluster lists is not seen, and then nothing is sent to it.", "second",
			[]string{"GET " + pods, "PATCH " + pod, "GET " + pod}, []string{"", "", ""}, 1, 3, true,
		},
		"Emptied": {
			"A cluster without a kube-system namespace is another one.", "nobody",
			[]string{"GET " + pods, "POST " + pods}, []string{"", ""}, 1, 2, true,
		},
		"Proxy": {
			"The page of a proxy is no answer that there is no such namespace.", "proxy",
			[]string{"GET " + pods, "PATCH " + pod}, []string{"", "proxy speaks"}, 2, 1, false,
		},
		"Down": {
			"Who cannot say who it is, is not believed, and is not another cluster either.", "down",
			[]string{"GET " + pods, "PATCH " + pod}, []string{"", "down speaks"}, 2, 1, false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newImpostor(t)
			config, uid, err := syncer.Guard(t.Context(), &rest.Config{Host: server.URL + "/base"})
			if err != nil || uid != "first" {
				t.Fatalf("got %q, %v", uid, err)
			}
			c, err := rest.HTTPClientFor(config)
			if err != nil {
				t.Fatal(err)
			}
			server.asked.Store(0)
			server.who.Store(tc.who)
			var last error
			for i, request := range tc.requests {
				var heard string
				if heard, last = send(t, c, server.URL, request); heard != tc.heard[i] {
					t.Errorf("%s\n%s: heard %q, want %q", tc.reason, request, heard, tc.heard[i])
				}
			}
			if sent, asked := server.other.Load(), server.asked.Load(); sent != tc.sent || asked != tc.asked {
				t.Errorf("%s\nsent %d requests and asked %d times, want %d and %d", tc.reason, sent, asked, tc.sent, tc.asked)
			}
			if got := errors.Is(last, syncer.ErrVirtualClusterReplaced); got != tc.replaced {
				t.Errorf("%s\nlast error: %v", tc.reason, last)
			}
			server.who.Store("first")
			if heard, err := send(t, c, server.URL, "PATCH "+pod); err != nil || heard != "first speaks" {
				t.Errorf("%s\nwhen the right one is back: %q, %v", tc.reason, heard, err)
			}
		})
	}
}

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
