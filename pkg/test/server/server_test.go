package server_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/test/port"
	"github.com/moorage-dev/moorage/pkg/test/server"
)

// TestMain is also the program of the servers, if its first argument says so.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "serve":
			serve(os.Args[2])
		case "serve-stubbornly":
			serveStubbornly(os.Args[2])
		case "abandon":
			abandon(os.Args[2])
		}
	}
	os.Exit(m.Run())
}

// serve answers each connection with the content of the file "greeting".
func serve(address string) {
	greeting, err := os.ReadFile("greeting")
	if err != nil {
		fmt.Println("there is no greeting")
		os.Exit(3)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		_, _ = conn.Write(greeting)
		_ = conn.Close()
	}
}

// greeter returns the program, which answers with its folder.
func greeter() server.Program {
	return server.Program{
		Name: os.Args[0],
		Args: func(at server.Place) []string { return []string{"serve", at.Address()} },
		Prepare: func(ctx context.Context, at server.Place) error {
			return at.Run(ctx, "sh", "-c", "pwd > greeting")
		},
	}
}

// greeting returns what the server answers.
func greeting(address string) (string, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	text := make([]byte, 1000)
	n, err := conn.Read(text)

	return strings.TrimSpace(string(text[:n])), err
}

// address returns a free one.
func address(t *testing.T) string { return fmt.Sprintf("127.0.0.1:%d", port.Free(t)) }

// TestStart starts a server in a folder of its own, which goes with the server.
func TestStart(t *testing.T) {
	s, err := server.Start(t.Context(), greeter(), address(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := greeting(s.Address())
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the server is in no folder: %v", err)
	}
	s.Stop()
	s.Stop() // has no effect
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder %q is left: %v", dir, err)
	}
	if _, err := greeting(s.Address()); err == nil {
		t.Error("the server still answers")
	}
}

// TestStartFails says why a server does not start.
func TestStartFails(t *testing.T) {
	missing := server.Program{Name: "no-such-server", Install: "apt-get install -y it"}
	unprepared, broken, mute, shut := greeter(), greeter(), greeter(), greeter()
	unprepared.Prepare = nil
	broken.Prepare = func(ctx context.Context, at server.Place) error {
		return at.Run(ctx, "sh", "-c", "echo disk full; false")
	}
	mute.Answers = func(context.Context, server.Place) error { return errors.New("it says nothing") }
	mute.Patience = 1
	shut.Users = []string{"no-such-user"}
	cases := map[string]struct {
		reason  string
		program server.Program
		address string
		want    string
	}{
		"Missing":    {"The program is not installed.", missing, "127.0.0.1:1", "apt-get install -y it"},
		"Ended":      {"The program ends.", unprepared, address(t), "there is no greeting"},
		"Unprepared": {"Its preparation fails.", broken, address(t), "disk full"},
		"Mute":       {"It does not answer.", mute, address(t), "it says nothing"},
		"Address":    {"There is no port.", greeter(), "127.0.0.1", "needs a host and a port"},
	}
	if os.Getuid() == 0 {
		cases["User"] = struct {
			reason  string
			program server.Program
			address string
			want    string
		}{"There is no user for it.", shut, address(t), "does not run as root"}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := server.Start(t.Context(), tc.program, tc.address)
			if err == nil {
				s.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestRun ends the server with the context.
func TestRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	at := address(t)
	if err := server.Run(ctx, greeter(), at, func() {
		if _, err := greeting(at); err != nil {
			t.Error(err)
		}
		stop()
	}); err != nil {
		t.Error(err)
	}
}

// TestRelativePath starts a program by a path that is relative to the folder of this process.
func TestRelativePath(t *testing.T) {
	p := greeter()
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if p.Name, err = filepath.Rel(cwd, os.Args[0]); err != nil {
		t.Fatal(err)
	}
	s, err := server.Start(t.Context(), p, address(t))
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
}
