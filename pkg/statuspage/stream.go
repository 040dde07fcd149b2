package statuspage

import (
	"fmt"
	"net/http"
	"time"
)

// writeTimeout is how long a reader may take for an answer.
const writeTimeout = 10 * time.Second

// stream sends the event "change" with the version of the fleet whenever the fleet changes, and a heartbeat otherwise.
// The parameter version is that of the page, so that no change between the two is missed.
func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	if !s.login.allowed(r) {
		http.Error(w, "not signed in", http.StatusForbidden)

		return
	}
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		http.Error(w, "too many pages are live", http.StatusServiceUnavailable)

		return
	}
	defer s.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	versions, end := s.feed.subscribe()
	defer end()
	if now := s.feed.current(r.Context()).version; now != r.URL.Query().Get("version") {
		if !s.send(w, "change", now) {
			return
		}
	} else if !s.send(w, "heartbeat", "") {
		return
	}
	s.follow(w, r, versions)
}

// follow sends events until the reader is gone, or the session ends.
func (s *server) follow(w http.ResponseWriter, r *http.Request, versions <-chan string) {
	heartbeat := time.NewTicker(heartbeatInterval)
	defer heartbeat.Stop()
	for {
		sent := false
		select {
		case <-r.Context().Done():
			return
		case version := <-versions:
			sent = s.send(w, "change", version)
		case <-heartbeat.C:
			sent = s.login.allowed(r) && s.send(w, "heartbeat", "")
		}
		if !sent {
			return
		}
	}
}

// send sends an event, and reports whether the reader is still there.
func (s *server) send(w http.ResponseWriter, event, data string) bool {
	if event == "heartbeat" {
		s.heartbeats.Add(1)
	} else {
		s.events.Add(1)
	}
	c := http.NewResponseController(w)
	_ = c.SetWriteDeadline(time.Now().Add(writeTimeout)) // a test has none
	_, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data)

	return err == nil && c.Flush() == nil
}
