package clusters

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// A restoredServer responds to lists with a version, and to watches with nothing.
type restoredServer struct {
	version string // "" forbids lists
	broken  bool   // lists are not answered
	sent    []string
}

// RoundTrip records a request and responds to it.
func (s *restoredServer) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	s.sent = append(s.sent, strings.TrimSuffix(r.URL.Path+"?"+query.Encode(), "?"))
	answer := func(code int, body string) (*http.Response, error) {
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(strings.NewReader(body)), Request: r,
		}, nil
	}
	switch {
	case query.Get("watch") != "":
		return answer(http.StatusOK, "")
	case s.broken:
		return nil, errors.New("connection refused")
	case s.version == "":
		return answer(http.StatusForbidden, `{"metadata":{"resourceVersion":"1"}}`)
	case !strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
		return answer(http.StatusNotAcceptable, "")
	default:
		return answer(http.StatusOK, fmt.Sprintf(`{"metadata":{"resourceVersion":%q}}`, s.version))
	}
}

// TestOnRestored verifies that the version of a resource is read whenever a watch
// resumes, and only then.
func TestOnRestored(t *testing.T) {
	const path = "/api/v1/namespaces/default/configmaps"
	list := func(of string) string { return of + "?limit=1" }
	for name, tc := range map[string]struct {
		reason   string
		requests []string
		version  string
		broken   bool
		want     []string // lists that are asked for
		restored string
	}{
		"First": {
			reason: "the version was listed a moment ago", requests: []string{path + "?watch=true&resourceVersion=874"},
			version: "219",
		},
		"Grows": {
			reason: "versions grow", requests: twice(path + "?watch=true&resourceVersion=874"), version: "1000",
			want: []string{list(path)},
		},
		"Stays": {
			reason: "nothing was written", requests: twice(path + "?watch=1&resourceVersion=874"), version: "874",
			want: []string{list(path)},
		},
		"WentBack": {
			reason: "what was written is gone", requests: twice(path + "?watch=true&resourceVersion=874"), version: "219",
			want: []string{list(path)}, restored: "configmaps 874 219",
		},
		"Forbidden": {
			reason: "nothing is known", requests: twice(path + "?watch=true&resourceVersion=874"), want: []string{list(path)},
		},
		"Broken": {
			reason: "nothing is known", requests: twice(path + "?watch=true&resourceVersion=874"), broken: true,
			want: []string{list(path)},
		},
		"NotComparable": {
			reason: "such versions say nothing", requests: twice(path + "?watch=true&resourceVersion=rev-9"), version: "rev-1",
			want: []string{list(path)},
		},
		"AfterFromNow": {
			reason: "a watch that began with what there was is one, too", requests: []string{
				path + "?watch=true&sendInitialEvents=true", path + "?watch=true&resourceVersion=874",
			},
			version: "219", want: []string{list(path)}, restored: "configmaps 874 219",
		},
		"FromNow": {reason: "it begins with what there is", requests: twice(path + "?watch=true"), version: "219"},
		"FromAny": {
			reason: "it begins with what a cache has", requests: twice(path + "?watch=true&resourceVersion=0"), version: "219",
		},
		"OtherResource": {
			reason:   "versions of two resources are not compared",
			requests: []string{path + "?watch=true&resourceVersion=874", "/api/v1/pods?watch=true&resourceVersion=874"},
			version:  "219",
		},
		"NoWatch": {
			reason: "a list from a version tells of a restore by itself", requests: twice(path + "?resourceVersion=874"),
			version: "219",
		},
		"Group": {
			reason: "the name of a group belongs to that of a resource", requests: twice(
				"/east/apis/apps/v1/deployments?watch=true&resourceVersion=874"), version: "219",
			want: []string{list("/east/apis/apps/v1/deployments")}, restored: "deployments.apps 874 219",
		},
		"Selected": {
			reason: "permissions may depend on what is selected",
			requests: twice(
				path + "?watch=true&resourceVersion=874&fieldSelector=metadata.name%3Deast" +
					"&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=9"),
			version: "219", want: []string{path + "?fieldSelector=metadata.name%3Deast&limit=1"}, restored: "configmaps 874 219",
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, notified := &restoredServer{version: tc.version, broken: tc.broken}, ""
			config := &rest.Config{Host: "https://east.example", Transport: server}
			OnRestored(config, func(r Restore) { notified += fmt.Sprint(r.Resource, " ", r.Known, " ", r.Answered) })
			c, err := rest.HTTPClientFor(config)
			if err != nil {
				t.Fatal(err)
			}
			code, body := 0, ""
			for _, request := range tc.requests {
				code, body = get(t, c, config.Host+request)
			}
			if notified != tc.restored {
				t.Errorf("notified of %q, want %q: %s", notified, tc.restored, tc.reason)
			}
			if gone := code == http.StatusGone; gone != (tc.restored != "") || gone &&
				!strings.Contains(body, `"reason":"Expired"`) {
				t.Errorf("the last watch is answered with %d %s", code, body)
			}
			var lists []string
			for _, sent := range server.sent {
				if strings.Contains(sent, "limit=1") {
					lists = append(lists, sent)
				}
			}
			if diff := cmp.Diff(tc.want, lists); diff != "" {
				t.Errorf("lists (-want, +got): %s\n%s", tc.reason, diff)
			}
		})
	}
}

// twice returns a request twice.
func twice(request string) []string { return []string{request, request} }

// get sends a request and returns the response.
func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(request)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}

	return answer.StatusCode, string(body)
}

// A recordingLogger records the messages with the level info.
type recordingLogger struct {
	logging.Logger

	out bytes.Buffer
}

// Info records a message.
func (r *recordingLogger) Info(msg string, more ...any) { fmt.Fprintln(&r.out, msg, more) }

// TestCacheRestored verifies that the connection of a cluster is replaced once when its
// API server was restored, although its settings are the same. Other clusters keep
// theirs.
func TestCacheRestored(t *testing.T) {
	server, log := &restoredServer{version: "874"}, &recordingLogger{Logger: logging.NewNopLogger()}
	built := 0
	c := NewCache(func(_ context.Context, _ Key, in Input) (*http.Client, error) {
		built++

		return rest.HTTPClientFor(in.RESTConfig)
	}, CacheOptions[*http.Client]{Logger: log})
	t.Cleanup(c.Close)
	other := Key{Name: "west"}
	var notified []Key
	defer c.Listen(func(k Key) { notified = append(notified, k) })()
	config := &rest.Config{Host: "https://east.example", Transport: server}
	for _, k := range []Key{key, other} {
		c.Set(k, Input{Revision: "a", RESTConfig: config})
	}
	m, user, ref := NewManager(c), User{Kind: "App", Key: Key{Name: "api"}}, Ref{Key: key, Revision: "a"}
	lease, err := m.Get(t.Context(), user, ref)
	if err != nil {
		t.Fatal(err)
	}
	stays, err := c.Acquire(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer stays.Release()

	notified = nil
	watch := func(resource, from string) {
		for range 3 {
			get(t, lease.Client, config.Host+"/api/v1/"+resource+"?watch=true&resourceVersion="+from)
		}
	}
	watch("pods", "874")
	if lease.Context.Err() != nil || c.Restored(key) != nil {
		t.Fatalf("it is replaced without a restore: %v", context.Cause(lease.Context))
	}
	server.version = "219"
	watch("pods", "874")
	watch("configmaps", "874")

	cause, why := context.Cause(lease.Context), Restore{}
	if !errors.Is(cause, ErrReplaced) || !errors.As(cause, &why) || why.Resource.Resource != "pods" ||
		why.Known != "874" || why.Answered != "219" {
		t.Errorf("the lease has ended because of %v", cause)
	}
	if got := c.Restored(key); got == nil || *got != why || c.Restored(other) != nil {
		t.Errorf("restored: %v, and the other one: %v", got, c.Restored(other))
	}
	if change, err := m.Refresh(t.Context(), user, ref); change != Replaced || err != nil {
		t.Errorf("Refresh returns %s, %v", change, err)
	}
	lease.Release()
	if lease, err = m.Get(t.Context(), user, ref); err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	watch("pods", "219")
	if change, err := m.Refresh(t.Context(), user, ref); change != Unchanged || err != nil || lease.Context.Err() != nil {
		t.Errorf("Refresh returns %s, %v without a restore", change, err)
	}
	if stays.Context.Err() != nil {
		t.Errorf("another cluster has another connection: %v", context.Cause(stays.Context))
	}
	if lines := log.out.String(); len(notified) != 1 || strings.Count(lines, "\n") != 1 ||
		!strings.Contains(lines, "pods") || !strings.Contains(lines, key.String()) {
		t.Errorf("notified of %v, and logged:\n%s", notified, lines)
	}
	if c.Set(key, Input{Revision: "b", RESTConfig: config}); c.Restored(key) != nil {
		t.Error("another revision was not restored")
	}
	if built != 3 {
		t.Errorf("%d connections were made, want one more than clusters", built)
	}
}
