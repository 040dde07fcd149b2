package statuspage

import (
	"net/http"
	"strings"
	"testing"
)

// paths are all addresses that need a session.
var paths = []string{"/", "/?state=All", "/object/uid-broken", "/events"}

// TestOnlyWithASession: a request without the cookie shows nothing of the fleet, and a page says how to get in.
func TestOnlyWithASession(t *testing.T) {
	s := newSite(t, example())
	for _, path := range paths {
		for name, cookie := range map[string]*http.Cookie{
			"none": nil, "of another name": {Name: "session", Value: "1"}, "made up": {Name: s.login.cookie, Value: "1"},
			"empty": {Name: s.login.cookie},
		} {
			s.cookie = cookie
			w := s.do(http.MethodGet, path)
			if w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "uid-") {
				t.Errorf("%s with the cookie %s: status %d: %s", path, name, w.Code, w.Body)
			}
			if path != "/events" && !strings.Contains(w.Body.String(), "kubectl logs") {
				t.Errorf("%s does not say how to get in: %s", path, w.Body)
			}
		}
	}
	if n := s.feed.reads; n != 0 {
		t.Errorf("the fleet was read %d times for readers without a session", n)
	}
}

// TestHosts: a request with a foreign Host header is refused, with or without the cookie.
func TestHosts(t *testing.T) {
	s := signedIn(t, example())
	for host, want := range map[string]int{
		"127.0.0.1:8082": http.StatusOK, "localhost:9000": http.StatusOK, "[::1]:8082": http.StatusOK,
		"localhost": http.StatusOK, "127.8.0.1": http.StatusOK, "[::1]": http.StatusOK,
		"evil.example.org:8082": http.StatusForbidden, "localhost.evil.example.org": http.StatusForbidden,
		"127.0.0.1.nip.io:8082": http.StatusForbidden, "10.0.0.1:8082": http.StatusForbidden, "": http.StatusForbidden,
		"0.0.0.0:8082": http.StatusForbidden, "[::]:8082": http.StatusForbidden, ":8082": http.StatusForbidden,
	} {
		links := len(s.log.all())
		w := s.do(http.MethodGet, "/", func(r *http.Request) { r.Host = host })
		if w.Code != want {
			t.Errorf("host %q: status %d, want %d", host, w.Code, want)
		}
		if want != http.StatusOK && (strings.Contains(w.Body.String(), "uid-") || len(s.log.all()) != links) {
			t.Errorf("host %q gets something: %s", host, w.Body)
		}
	}
}

// TestMethods: the page can only be read.
func TestMethods(t *testing.T) {
	s := signedIn(t, example())
	for method, want := range map[string]int{
		http.MethodGet: http.StatusOK, http.MethodHead: http.StatusOK, http.MethodPost: http.StatusMethodNotAllowed,
		http.MethodPut: http.StatusMethodNotAllowed, http.MethodDelete: http.StatusMethodNotAllowed,
		http.MethodOptions: http.StatusMethodNotAllowed, "BREW": http.StatusMethodNotAllowed,
	} {
		if w := s.do(method, "/"); w.Code != want {
			t.Errorf("%s: status %d, want %d", method, w.Code, want)
		}
	}
}

// TestHeaders: every answer has the headers that keep other sites away, and no page has code or style of its own.
func TestHeaders(t *testing.T) {
	s := signedIn(t, example())
	for _, path := range []string{
		"/", "/object/uid-broken", "/object/none", "/login", "/style.css", "/page.js", "/nothing",
	} {
		w := s.do(http.MethodGet, path)
		for name, want := range headers {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: header %s is %q", path, name, got)
			}
		}
		for _, bad := range []string{"<style", " style=", "<script>", " onclick=", "javascript:", "https://"} {
			if strings.Contains(w.Body.String(), bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
	policy := headers["Content-Security-Policy"]
	if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy: %s", policy)
	}
}

// TestUnknownObject: an object that is gone has a page that says so.
func TestUnknownObject(t *testing.T) {
	s := signedIn(t, example())
	w := s.do(http.MethodGet, "/object/uid-none")
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "There is no such object") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
