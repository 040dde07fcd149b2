package dev

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// fakes reports whether a fake of the API is run: the provider has one, and $API_URL is not set.
func (s *session) fakes() bool {
	_, err := os.Stat(filepath.Join(s.Dir, "cmd", "fake"))

	return err == nil && os.Getenv("API_URL") == ""
}

// vacant returns an error if the fake's address is in use.
func (s *session) vacant() error {
	if !s.fakes() {
		return nil
	}

	place, err := net.Listen("tcp", s.Fake)
	if err != nil {
		return fmt.Errorf(
			"the fake of the API needs %s: end what is there, name another place by --fake, or say by $API_URL where the API "+
				"is: %w", s.Fake, err)
	}

	return place.Close()
}

// renewFake builds the fake of the API, if there is one, and replaces the running one only if its program has changed:
// a fake loses its memory when it restarts.
func (s *session) renewFake(ctx context.Context) error {
	if !s.fakes() {
		return nil
	}

	program := filepath.Join(s.Dir, "bin", "fake")
	if err := s.run(ctx, "go", "build", "-o", "bin/fake", "./cmd/fake"); err != nil {
		return err
	}

	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}

	sum := sha256.Sum256(binary)
	if s.fake != nil && !s.fake.hasEnded() && sum == s.faked {
		return nil
	}

	again := s.fake != nil
	s.fake.stop()
	s.fake = nil

	if err := s.vacant(); err != nil {
		return err
	}

	fake, err := start(s.Out, s.Dir, "fake", s.env(), program, "--listen", s.Fake)
	if err != nil {
		return err
	}

	if err := fake.awaits(ctx, time.Minute, func() error {
		conn, err := net.DialTimeout("tcp", s.Fake, time.Second)
		if err != nil {
			return err
		}

		return conn.Close()
	}); err != nil {
		fake.stop()

		return err
	}

	if s.fake, s.faked = fake, sum; again {
		s.say("the fake is another one now: what the old one kept in memory is gone")
	}

	return nil
}
