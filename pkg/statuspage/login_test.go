package statuspage

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLinkIsForOneUse: a link has 128 random bits, leads to a strict cookie, and only once.
func TestLinkIsForOneUse(t *testing.T) {
	s := newSite(t, example())
	link := s.log.all()[0]
	if !regexp.MustCompile(`^/login\?token=[0-9a-f]{32}$`).MatchString(link) {
		t.Errorf("link %q", link)
	}
	if w := s.do(http.MethodHead, link); len(w.Result().Cookies()) != 0 {
		t.Error("HEAD leads to a session")
	}
	prefetch := func(r *http.Request) { r.Header.Set("Sec-Purpose", "prefetch;prerender") }
	if w := s.do(http.MethodGet, link, prefetch); len(w.Result().Cookies()) != 0 {
		t.Error("a prefetch leads to a session")
	}
	s.enter(link)
	c := s.cookie
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || len(c.Value) != 32 {
		t.Errorf("cookie %v", c)
	}
	if strings.Contains(link, c.Value) {
		t.Error("the cookie is the token of the link")
	}
	s.page("/")
	w := s.do(http.MethodGet, link)
	if w.Code != http.StatusForbidden || len(w.Result().Cookies()) != 0 ||
		!strings.Contains(w.Body.String(), "used before") {
		t.Errorf("the second use: status %d: %s", w.Code, w.Body)
	}
	if other := newSite(t, example()); other.login.cookie == s.login.cookie {
		t.Error("two processes have cookies of one name")
	}
}

// TestNewLinks: a refused page leads to a new link, at most once per minute; a link ends after ten minutes, and a
// session after twelve hours.
func TestNewLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, example())
		for range 10 {
			s.do(http.MethodGet, "/")
		}
		if n := len(s.log.all()); n != 1 {
			t.Fatalf("%d links in the first minute", n)
		}
		<-time.After(linkInterval)
		for range 10 {
			s.do(http.MethodGet, "/")
		}
		links := s.log.all()
		if len(links) != 2 {
			t.Fatalf("%d links in the second minute", len(links))
		}
		s.enter(links[0]) // the first is still valid
		<-time.After(linkLifetime)
		if w := s.do(http.MethodGet, links[1]); w.Code != http.StatusForbidden {
			t.Errorf("a link of eleven minutes: status %d", w.Code)
		}
		s.page("/")
		<-time.After(sessionLifetime)
		if w := s.do(http.MethodGet, "/"); w.Code != http.StatusForbidden {
			t.Errorf("a session of half a day: status %d", w.Code)
		}
	})
}

// TestSessionsAreBounded: the session that ends first makes room for a new one.
func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, example())
		var first *http.Cookie
		for i := range maxSessions + 1 {
			<-time.After(linkInterval)
			s.cookie = nil
			s.do(http.MethodGet, "/")
			links := s.log.all()
			if s.enter(links[len(links)-1]); i == 0 {
				first = s.cookie
			}
		}
		s.page("/")
		s.cookie = first
		if w := s.do(http.MethodGet, "/"); w.Code != http.StatusForbidden || len(s.login.sessions) != maxSessions {
			t.Errorf("%d sessions; the first has status %d", len(s.login.sessions), w.Code)
		}
	})
}
