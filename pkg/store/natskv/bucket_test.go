package natskv

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A busyServer fails so many times to create the store of a stream.
type busyServer struct {
	jetstream.JetStream
	busy, asked int
	with        jetstream.ErrorCode
}

func (s *busyServer) CreateKeyValue(context.Context, jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	if s.asked++; s.asked <= s.busy {
		return nil, &jetstream.APIError{Code: 500, ErrorCode: s.with, Description: "error creating store for stream"}
	}

	return nil, nil
}

// TestCreateAfterTheLastStream checks that a bucket is created just after the last stream of its account was deleted,
// while the server still removes the folder of that account.
func TestCreateAfterTheLastStream(t *testing.T) {
	const full jetstream.ErrorCode = 10047
	cases := map[string]struct {
		server busyServer
		asked  int
		fails  bool
	}{
		"at once":         {busyServer{}, 1, false},
		"a moment later":  {busyServer{busy: 2, with: createFailed}, 3, false},
		"never":           {busyServer{busy: 100, with: createFailed}, attempts, true},
		"another failure": {busyServer{busy: 100, with: full}, 1, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := bucket{js: &tc.server, name: "things"}.create(t.Context(), things)
			if (err != nil) != tc.fails || tc.server.asked != tc.asked {
				t.Errorf("asked %d times, want %d; got error %v, want one: %t", tc.server.asked, tc.asked, err,
					tc.fails)
			}
		})
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	err := bucket{js: &busyServer{busy: 100, with: createFailed}, name: "things"}.create(cancelled, things)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for it any more: got error %v", err)
	}
}
