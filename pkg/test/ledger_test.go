package test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestLedgerReadsPaths(t *testing.T) {
	cases := map[string]struct {
		method, url string
		want        Request
	}{
		"Custom": {http.MethodPatch, "/apis/example.org/v1/namespaces/ns/volumes/data",
			Request{Verb: "PATCH", Resource: "volumes", Name: "data", Status: 200}},
		"Status": {http.MethodPatch, "/apis/example.org/v1/namespaces/ns/volumes/data/status",
			Request{Verb: "PATCH", Resource: "volumes/status", Name: "data", Status: 200}},
		"Core": {http.MethodGet, "/api/v1/namespaces/ns/secrets/creds",
			Request{Verb: "GET", Resource: "secrets", Name: "creds", Status: 200}},
		"Namespace": {http.MethodGet, "/api/v1/namespaces/kube-system",
			Request{Verb: "GET", Resource: "namespaces", Name: "kube-system", Status: 200}},
		"Cluster": {http.MethodDelete, "/apis/example.org/v1/widgets/one",
			Request{Verb: "DELETE", Resource: "widgets", Name: "one", Status: 200}},
		"List": {http.MethodGet, "/apis/example.org/v1/volumes?limit=500",
			Request{Verb: "GET", Resource: "volumes", Status: 200}},
		"Informer": {http.MethodGet, "/apis/example.org/v1/volumes?limit=500&resourceVersion=0",
			Request{Verb: "GET", Resource: "volumes", Watch: true, Status: 200}},
		"Watch": {http.MethodGet, "/apis/example.org/v1/volumes?watch=true",
			Request{Verb: "GET", Resource: "volumes", Watch: true, Status: 200}},
		"Event": {http.MethodPost, "/apis/events.k8s.io/v1/namespaces/ns/events",
			Request{Verb: "POST", Resource: "events", Status: 200}},
		"Discovery": {http.MethodGet, "/apis/example.org/v1", Request{Verb: "GET", Status: 200}},
	}
	for name, tc := range cases {
		l := &Ledger{}
		answer := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})
		got, err := l.Wrap(answer).RoundTrip(httptest.NewRequest(tc.method, "https://example.org"+tc.url, nil))
		if err != nil || got.Body.Close() != nil {
			t.Fatal(err)
		}
		if got := l.All()[0]; got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestLedgerCountsApart(t *testing.T) {
	down := errors.New("connection refused")
	l := &Ledger{}
	c := l.Wrap(roundTripper(func(*http.Request) (*http.Response, error) { return nil, down }))
	for _, path := range []string{"/api/v1/namespaces/ns/events", "/apis/coordination.k8s.io/v1/namespaces/ns/leases/x",
		"/apis/example.org/v1/volumes/a", "/api"} {
		// there is no answer
		if _, err := c.RoundTrip(httptest.NewRequest(http.MethodPatch, path, nil)); !errors.Is(err, down) {
			t.Fatalf("error %v", err)
		}
	}
	if got := SummarizeRequests(l.Objects()); got != "1 PATCH volumes" || len(l.Events()) != 1 || len(l.All()) != 4 {
		t.Errorf("objects %q, %d events", got, len(l.Events()))
	}
	l.Reset()
	if len(l.Objects())+len(l.Events()) != 0 {
		t.Error("nothing is forgotten")
	}
}

// TestSummarizeRequests: failed requests are listed separately, by status.
func TestSummarizeRequests(t *testing.T) {
	sent := []Request{
		{Verb: "PATCH", Resource: "volumes", Status: http.StatusOK},
		{Verb: "PATCH", Resource: "volumes", Status: http.StatusConflict},
		{Verb: "PATCH", Resource: "volumes"}, {Verb: "GET", Resource: "volumes", Status: http.StatusNotFound},
	}
	if got, want := SummarizeRequests(sent),
		"1 GET volumes answered 404, 1 PATCH volumes answered 409, 2 PATCH volumes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLedgerCountsWhatIsUnderWay: a request counts from when it is sent, and is under way until it has a response.
func TestLedgerCountsWhatIsUnderWay(t *testing.T) {
	l := &Ledger{}
	answer := roundTripper(func(*http.Request) (*http.Response, error) {
		if l.Underway() != 1 || len(l.All()) != 1 || l.All()[0].Status != 0 {
			t.Errorf("%d under way of %+v, want one without an answer", l.Underway(), l.All())
		}
		l.Reset() // a request that is under way stays so

		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	got, err := l.Wrap(answer).RoundTrip(httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/ns/secrets/creds",
		nil))
	if err != nil || got.Body.Close() != nil {
		t.Fatal(err)
	}
	if l.Underway() != 0 || len(l.All()) != 0 {
		t.Errorf("%d under way of %+v after the answer to what was forgotten", l.Underway(), l.All())
	}
}

// TestLedgerExcusesAnnouncedReads: an announcement excuses the next read of that object, once, and no other request.
func TestLedgerExcusesAnnouncedReads(t *testing.T) {
	l := &Ledger{}
	c := l.Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}))
	send := func(method, path string) {
		got, err := c.RoundTrip(httptest.NewRequest(method, "/apis/example.org/v1"+path, nil))
		if err != nil || got.Body.Close() != nil {
			t.Fatal(err)
		}
	}
	expect := func(when, objects, lags string) {
		t.Helper()
		gotObjects, gotLags := SummarizeRequests(l.Objects()), SummarizeRequests(l.Lags())
		if gotObjects != objects || gotLags != lags {
			t.Errorf("%s: counted %q, excused %q, want %q and %q", when, gotObjects, gotLags, objects, lags)
		}
		l.Reset()
	}
	log := l.Logger(nil).WithValues("controller", "volumes")
	const a = "/namespaces/ns/volumes/a"

	log.Debug("Decided", "object", "ns/a")
	send(http.MethodGet, a)
	expect("without an announcement", "1 GET volumes", "")

	log.Debug(lagging, "object", "ns/a")
	send(http.MethodGet, "/namespaces/ns/volumes")
	send(http.MethodGet, "/namespaces/ns/volumes/b")
	send(http.MethodGet, "/namespaces/other/volumes/a")
	send(http.MethodGet, "/volumes/a")
	send(http.MethodPatch, a)
	expect("of others", "1 PATCH volumes, 4 GET volumes", "")

	send(http.MethodGet, a)
	send(http.MethodGet, a)
	expect("announced before the reset, and another one", "1 GET volumes", "1 GET volumes")

	log.Debug(lagging, "object", "/cluster")
	log.Debug(lagging, "object", "/cluster")
	send(http.MethodGet, "/ports/cluster")
	send(http.MethodGet, "/ports/cluster")
	if len(l.All()) != 2 {
		t.Errorf("not all are counted: %v", l.All())
	}
	expect("announced twice, of no namespace", "", "2 GET ports")
}
