package test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A Ledger counts the requests that a client sends to an API server, so that a test can check the number of requests of
// a provider. Pass its method Wrap to the Wrap of a rest.Config. A request is counted when it is sent. So a test that
// sees the effect of a request also finds the request in the Ledger. A Ledger may be used concurrently. The zero value
// is empty and ready to use.
type Ledger struct {
	mu       sync.Mutex
	requests []*entry
	lags     map[string]int // announced reads that are yet to come
	underway int
}

// A Request is a request that was sent to the API server.
type Request struct {
	Verb     string // HTTP method
	Resource string // resource as in the path: volumes, volumes/status, events
	Name     string // name of the object; empty for a collection
	Watch    bool   // a watch, or the list that it begins with
	Status   int    // HTTP status of the response; 0 while there is no response
}

// An entry is one counted request.
type entry struct {
	Request

	lag bool // the Logger had announced it
}

// Wrap returns a transport that counts requests.
func (l *Ledger) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		answered := l.send(parse(r))
		answer, err := next.RoundTrip(r)
		status := 0
		if answer != nil {
			status = answer.StatusCode
		}
		answered(status)

		return answer, err
	})
}

// send counts a request that is about to be sent. It returns a function that records the status of the
// response, 0 if there was none.
func (l *Ledger) send(r Request, namespace string) (answered func(status int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := &entry{Request: r, lag: l.excuses(r, namespace)}
	l.requests = append(l.requests, sent)
	l.underway++

	return func(status int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		sent.Status = status
		l.underway--
	}
}

// Underway returns the number of requests without a response yet. It includes requests from before a Reset.
func (l *Ledger) Underway() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.underway
}

// Reset clears the counts.
func (l *Ledger) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = nil
}

// All returns every request.
func (l *Ledger) All() []Request { return l.filter(func(entry) bool { return true }) }

// Objects returns the requests for objects. These are all requests except watches, discovery, leases, events and
// [Ledger.Lags].
func (l *Ledger) Objects() []Request {
	return l.filter(func(r entry) bool {
		return !r.lag && !r.Watch && r.Resource != "" && r.Resource != "events" && r.Resource != "leases"
	})
}

// Events returns the requests that create or change events.
func (l *Ledger) Events() []Request {
	return l.filter(func(r entry) bool { return r.Resource == "events" })
}

// SummarizeRequests formats the number of requests by verb and resource. Failed requests are also listed by their
// status: "1 PATCH volumes, 1 PATCH volumes answered 409".
func SummarizeRequests(requests []Request) string {
	counts := map[string]int{}
	for _, r := range requests {
		what := r.Verb + " " + r.Resource
		if r.Status >= http.StatusMultipleChoices {
			what += fmt.Sprintf(" answered %d", r.Status)
		}
		counts[what]++
	}
	var lines []string
	for what, n := range counts {
		lines = append(lines, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(lines)

	return strings.Join(lines, ", ")
}

func (l *Ledger) filter(keep func(entry) bool) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var kept []Request
	for _, r := range l.requests {
		if keep(*r) {
			kept = append(kept, r.Request)
		}
	}

	return kept
}

// parse reads a path such as /apis/GROUP/VERSION/namespaces/NS/RESOURCE/NAME/SUB.
func parse(r *http.Request) (request Request, namespace string) {
	request.Verb = r.Method
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return request, "" // discovery, health
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	request.Resource = parts[0]
	if len(parts) > 1 {
		request.Name = parts[1]
	}
	if len(parts) > 2 {
		request.Resource += "/" + parts[2]
	}
	query := r.URL.Query()
	// The list of an informer accepts any version: it sets resourceVersion to "0".
	request.Watch = query.Get("watch") != "" || query.Get("resourceVersion") == "0"

	return request, namespace
}

type roundTripper func(*http.Request) (*http.Response, error)

func (fn roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }
