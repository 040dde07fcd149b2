package statuspage

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

//go:embed assets
var assets embed.FS

var pages = template.Must(template.New("").ParseFS(assets, "assets/*.tmpl"))

// headers are the headers of all answers.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cache-Control":                "no-store",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
}

// maxStreams is how many pages can be live at a time.
const maxStreams = 100

// A server serves the pages. It is safe for concurrent use.
type server struct {
	options Options
	feed    *feed
	login   *login
	mux     *http.ServeMux

	streams, events, heartbeats atomic.Int64
}

func newServer(read func(context.Context) *fleet, o Options) *server {
	s := &server{options: o, feed: newFeed(read), login: newLogin(o.Logger), mux: http.NewServeMux()}
	s.mux.HandleFunc("/{$}", s.private(s.overview))
	s.mux.HandleFunc("/object/{uid}", s.private(s.object))
	s.mux.HandleFunc("/events", s.stream)
	s.mux.HandleFunc("/login", s.logIn)
	s.mux.HandleFunc("/style.css", asset("style.css", "text/css; charset=utf-8"))
	s.mux.HandleFunc("/page.js", asset("page.js", "text/javascript; charset=utf-8"))
	s.mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

	return s
}

// ServeHTTP refuses what no page sends, and serves everything else.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	switch {
	case !localHost(r.Host):
		http.Error(w, "The status page is served to this machine only: open it at 127.0.0.1 or localhost.",
			http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "The status page can only be read.", http.StatusMethodNotAllowed)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// localHost reports whether the Host header of a request names this machine. The page of a foreign name that leads to
// this machine could otherwise read the status page.
func localHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}

	return isLoopback(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// private serves a page to those who have a session, and says to all others how to get one.
func (s *server) private(page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.login.allowed(r) {
			page(w, r)

			return
		}
		s.refuse(w, "")
	}
}

// refuse says how to get a session, and logs a new link.
func (s *server) refuse(w http.ResponseWriter, why string) {
	at := s.login.offerLink()
	render(w, http.StatusForbidden, "refused.tmpl", map[string]any{
		"Title": "Not signed in", "Provider": shown(s.options.Provider), "At": moment{at}, "Why": why,
		"Valid": linkLifetime.Minutes(), "Interval": linkInterval.Minutes(),
	})
}

// logIn ends a one-time link and begins a session. The answer is a page and not a redirect, because browsers do not
// send a strict cookie with a redirect that another site began.
func (s *server) logIn(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead || strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") {
		w.WriteHeader(http.StatusNoContent) // only a person uses the link up

		return
	}
	cookie := s.login.redeem(r.URL.Query().Get("token"))
	if cookie == nil {
		s.refuse(w, "This link was used before, or is too old.")

		return
	}
	http.SetCookie(w, cookie)
	render(w, http.StatusOK, "login.tmpl", map[string]any{"Title": "Signed in", "Provider": shown(s.options.Provider)})
}

func (s *server) overview(w http.ResponseWriter, r *http.Request) {
	f := s.feed.current(r.Context())
	q := parseQuery(r.URL.Query())
	write(w, http.StatusOK, f.rendered.page(q.link(q.page), func() []byte {
		return execute("overview.tmpl", s.overviewOf(f, q))
	}))
}

func (s *server) object(w http.ResponseWriter, r *http.Request) {
	v := s.detailOf(s.feed.current(r.Context()), types.UID(r.PathValue("uid")))
	code := http.StatusOK
	if !v.Found {
		code = http.StatusNotFound
	}
	render(w, code, "object.tmpl", v)
}

// asset serves a file. It is no secret.
func asset(name, contentType string) http.HandlerFunc {
	content, err := assets.ReadFile("assets/" + name)

	return func(w http.ResponseWriter, _ *http.Request) {
		if err != nil {
			http.Error(w, "not found", http.StatusNotFound)

			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(content) // a reader who is gone needs nothing
	}
}

// render writes a page.
func render(w http.ResponseWriter, code int, name string, data any) {
	write(w, code, execute(name, data))
}

// execute returns a page, or nil if it cannot be rendered.
func execute(name string, data any) []byte {
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, name, data); err != nil {
		return nil
	}

	return page.Bytes()
}

// write writes a page.
func write(w http.ResponseWriter, code int, page []byte) {
	if page == nil {
		http.Error(w, "the status page cannot be shown", http.StatusInternalServerError)

		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // a test has none
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(page) // a reader who is gone needs nothing
}
