package statuspage

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// Limits of links and sessions.
const (
	linkLifetime    = 10 * time.Minute
	linkInterval    = time.Minute // between two links
	sessionLifetime = 12 * time.Hour
	maxSessions     = 64
	tokenBytes      = 16
)

// A login knows who may see the page. A one-time link in the log of the provider leads to a session, which a cookie
// proves. It keeps digests only, in memory. It is safe for concurrent use.
type login struct {
	log    logging.Logger
	cookie string // its name: a browser sends the cookies of a host to all ports

	mu       sync.Mutex
	address  string
	links    map[digest]time.Time // until when they are valid
	sessions map[digest]time.Time
	lastLink time.Time
}

type digest [sha256.Size]byte

func newLogin(log logging.Logger) *login {
	return &login{
		log: log, cookie: "moorage-status-" + newToken()[:8],
		links: map[digest]time.Time{}, sessions: map[digest]time.Time{},
	}
}

// newToken returns 128 random bits as text.
func newToken() string {
	var b [tokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails

	return hex.EncodeToString(b[:])
}

// announce logs the first link, once the address is known.
func (l *login) announce(address string) {
	l.mu.Lock()
	l.address = address
	l.mu.Unlock()
	l.offerLink()
}

// offerLink logs a new link, unless it logged one in the last minute. It returns when it last logged one.
func (l *login) offerLink() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.lastLink.IsZero() && now.Sub(l.lastLink) < linkInterval {
		return l.lastLink
	}
	removeEnded(l.links, now)
	token := newToken()
	l.links[sha256.Sum256([]byte(token))], l.lastLink = now.Add(linkLifetime), now
	l.log.Info("The status page can be opened once with this link", "url", "http://"+l.address+"/login?token="+token,
		"validFor", linkLifetime.String())

	return now
}

// redeem ends a link, and returns the cookie of a new session. It returns nil if the link is not valid.
func (l *login) redeem(token string) *http.Cookie {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, key := time.Now(), digest(sha256.Sum256([]byte(token)))
	until, ok := l.links[key]
	delete(l.links, key)
	if !ok || !now.Before(until) {
		return nil
	}
	removeEnded(l.sessions, now)
	for len(l.sessions) >= maxSessions {
		delete(l.sessions, firstToEnd(l.sessions))
	}
	session := newToken()
	l.sessions[sha256.Sum256([]byte(session))] = now.Add(sessionLifetime)

	return &http.Cookie{
		Name: l.cookie, Value: session, Path: "/", MaxAge: int(sessionLifetime.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
}

// allowed reports whether a request has the cookie of a session.
func (l *login) allowed(r *http.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range r.CookiesNamed(l.cookie) {
		if until, ok := l.sessions[sha256.Sum256([]byte(c.Value))]; ok && time.Now().Before(until) {
			return true
		}
	}

	return false
}

func removeEnded(all map[digest]time.Time, now time.Time) {
	for key, until := range all {
		if !now.Before(until) {
			delete(all, key)
		}
	}
}

func firstToEnd(all map[digest]time.Time) (first digest) {
	var at time.Time
	for key, until := range all {
		if at.IsZero() || until.Before(at) {
			first, at = key, until
		}
	}

	return first
}
