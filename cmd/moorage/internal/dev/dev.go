package dev

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say what to run. Dir and Out are required.
type Options struct {
	// Dir is the folder of the provider.
	Dir string

	// Out receives a line for each event.
	Out io.Writer

	// Examples applies the examples and waits until they are Ready.
	Examples bool

	// Fake is the address of the fake of the API. No fake is started if $API_URL is set.
	Fake string

	// Args are the arguments of the provider.
	Args []string
}

const (
	// fakeToken is the token of the fake, unless the environment sets one.
	fakeToken = "let-me-in"

	// slowBuild is longer than it takes to find an API server that is built.
	slowBuild = 3 * time.Second

	// lookEvery is the interval at which files are checked.
	lookEvery = 300 * time.Millisecond
)

// A session is a run of the development environment.
type session struct {
	Options

	kubeconfig string
	binary     string // of the API server
	cluster    *cluster

	server, fake, provider *child

	faked [sha256.Size]byte // the checksum of the fake's program

	// within is the time until an example must be Ready.
	within time.Duration
}

// Run runs everything until ctx ends, which is no error. The folder cluster of the provider keeps the objects for the
// next run.
func Run(ctx context.Context, o Options) error {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return err
	}

	o.Dir, o.Out = dir, &locked{to: o.Out}
	s := &session{Options: o, kubeconfig: filepath.Join(dir, "cluster", "kubeconfig"), within: 5 * time.Minute}

	if err := s.vacant(); err != nil {
		return err
	}

	if s.server, err = s.startServer(ctx); err != nil {
		return ended(ctx, err)
	}
	defer s.server.stop()

	defer func() {
		s.provider.stop()
		s.fake.stop()
	}()

	return ended(ctx, s.follow(ctx))
}

// ended drops an error that the end of ctx has caused.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}

	return err
}

func (s *session) say(format string, args ...any) {
	fmt.Fprintf(s.Out, "moorage: "+format+"\n", args...)
}

// startServer starts the API server and waits until it answers.
func (s *session) startServer(ctx context.Context) (*child, error) {
	if err := s.run(ctx, "go", "build", "-o", "bin/devcluster-build",
		"github.com/moorage-dev/moorage/pkg/devcluster/build"); err != nil {
		return nil, err
	}

	build := s.command(ctx, filepath.Join(s.Dir, "bin", "devcluster-build"))
	build.Stdout = nil

	slow := time.AfterFunc(slowBuild, func() { s.say("building the API server, which takes minutes the first time") })
	binary, err := build.Output()
	slow.Stop()

	if err != nil {
		return nil, fmt.Errorf("cannot build the API server: %w", err)
	}

	s.binary = strings.TrimSpace(string(binary))

	server, err := start(s.Out, s.Dir, "API server", nil, s.binary, "serve", "--dir", "cluster")
	if err != nil {
		return nil, err
	}

	err = server.awaits(ctx, 5*time.Minute, func() error {
		if s.cluster, err = open(s.kubeconfig); err != nil {
			return err
		}

		if err := s.cluster.call(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
			return err
		}

		// A provider asks for it at once, and a new server makes it when it is up.
		return s.cluster.call(ctx, http.MethodGet, "/api/v1/namespaces/kube-system", nil, nil)
	})
	if err != nil {
		server.stop()

		return nil, err
	}

	return server, nil
}

// follow builds and starts the provider and the fake, and does so again whenever a source changes. A failed build is
// reported, and the old program keeps running; a program that ends is reported. The examples are applied until they
// are Ready, and again whenever one changes.
func (s *session) follow(ctx context.Context) error {
	var was sight

	for due, ready := true, !s.Examples; ; {
		now, err := s.look()
		if err != nil {
			return err
		}

		// An example may be the reason why a process has ended.
		if due || now.sources != was.sources || s.provider.hasEnded() || s.fake.hasEnded() {
			built := s.renew(ctx)
			if due = built != nil; due && ctx.Err() == nil {
				s.say("%v; it is tried again when %s", built, s.awaited())
			}
		}

		ready = ready && now.examples == was.examples

		played, err := s.watch(ctx, now, !ready && !due)
		if err != nil {
			return err
		}

		was, ready = now, ready || played
	}
}

// awaited names the change that is waited for.
func (s *session) awaited() string {
	if s.Examples {
		return "a Go file or an example changes"
	}

	return "a Go file changes"
}

// watch waits until the files change. Meanwhile it applies the examples, if requested, and returns whether all of them
// were Ready. It reports it once if the provider or the fake ends by itself, and fails if the API server does.
func (s *session) watch(ctx context.Context, was sight, examples bool) (ready bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	change, played := make(chan error, 1), make(chan error, 1)

	var started sync.WaitGroup
	defer started.Wait()
	defer stop()

	started.Go(func() { change <- changed(ctx, s.look, was, lookEvery) })

	playing := examples
	if playing {
		started.Go(func() { played <- s.play(ctx) })
	}

	provider, fake := s.provider.ended(), s.fake.ended()

	for {
		select {
		case err := <-change:
			stop()

			if playing {
				ready = <-played == nil // they may have become Ready meanwhile
			}

			if err == nil {
				s.say("a file changed")
			}

			return ready, err
		case err := <-played:
			playing = false

			if ready = err == nil; !ready && ctx.Err() == nil && !s.provider.hasEnded() {
				s.say("%v; the examples are tried again when %s", err, s.awaited())
			}
		case <-provider:
			provider = nil // reported once

			s.say("%s; it is started again when %s", s.provider.how(), s.awaited())
		case <-fake:
			fake = nil

			s.say("%s; it is started again when %s", s.fake.how(), s.awaited())
		case <-s.server.ended():
			return ready, errors.New(s.server.how() + ", and nothing goes without it")
		}
	}
}

// renew builds the provider and the fake and, if that succeeds, replaces the running ones.
func (s *session) renew(ctx context.Context) error {
	if err := s.run(ctx, "make", "generate"); err != nil {
		return err
	}

	if err := s.run(ctx, "go", "build", "-o", "bin/provider", "./cmd/provider"); err != nil {
		return err
	}

	if err := s.renewFake(ctx); err != nil {
		return err
	}

	kinds, err := read(filepath.Join(s.Dir, "package", "crds", "*.yaml"))
	if err != nil {
		return err
	}

	if err := s.cluster.apply(ctx, kinds); err != nil {
		return err
	}

	if err := s.cluster.served(ctx, kinds); err != nil {
		return err
	}

	account, err := s.permit(ctx)
	if err != nil {
		return err
	}

	s.provider.stop()

	args := append([]string{"--poll", "5s", "--health-probe-bind-address", "0", "--metrics-bind-address", "0"}, s.Args...)

	env := append(s.env(), "KUBECONFIG="+account) // the last one counts
	lines := &prefixed{to: s.Out, prefix: "provider: ", show: newConsole(time.Now).text}

	s.provider, err = startTo(lines, s.Dir, "provider", env, filepath.Join(s.Dir, "bin", "provider"), args...)
	if err != nil {
		return err
	}

	s.say("the provider runs; export KUBECONFIG=%s", s.kubeconfig)

	return nil
}

// env returns the environment of the provider and of the fake. Variables that are set already win.
func (s *session) env() []string {
	out := []string{"KUBECONFIG=" + s.kubeconfig}

	for name, value := range map[string]string{"API_URL": "http://" + s.Fake, "API_TOKEN": fakeToken} {
		if os.Getenv(name) == "" {
			out = append(out, name+"="+value)
		}
	}

	return out
}

func (s *session) run(ctx context.Context, program string, args ...string) error {
	if err := s.command(ctx, program, args...).Run(); err != nil {
		return fmt.Errorf("cannot %s: %w", strings.Join(append([]string{filepath.Base(program)}, args...), " "), err)
	}

	return nil
}

// command returns a command with the environment of this process, so that the go command compiles with the flags of the
// author's shell, and nothing twice. It ends with ctx, with all its children.
func (s *session) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.Dir, s.Out, s.Out, patience
	cmd.Cancel = func() error { return signal(cmd, syscall.SIGTERM) }
	tie(cmd)

	return cmd
}
