package statuspage

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestStreamsAreBounded: more pages than that are not live, and stay readable.
func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := signedIn(t, example())
		end := s.live(maxStreams)
		if w := s.do(http.MethodGet, "/events"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("one more: status %d", w.Code)
		}
		s.page("/")
		end()
		if n := s.streams.Load(); n != 0 {
			t.Errorf("%d streams are left", n)
		}
		<-time.After(2 * keepSnapshot)
	})
}

// TestStreamEndsWithTheSession: a stream does not outlive the session by more than a heartbeat.
func TestStreamEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := signedIn(t, example())
		end := s.live(1)
		defer end()
		<-time.After(sessionLifetime + heartbeatInterval)
		synctest.Wait()
		if n := s.streams.Load(); n != 0 {
			t.Errorf("%d streams after the session", n)
		}
		<-time.After(2 * keepSnapshot)
	})
}
