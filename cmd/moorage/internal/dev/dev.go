package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say what is run. Dir and Out are required.
type Options struct {
	// Dir is the folder of the provider.
	Dir string

	// Out is told what happens.
	Out io.Writer

	// Examples says that the examples are applied, too, and waited for.
	Examples bool

	// Fake is the address and port at which the fake of the API is. Nothing is started
	// there if $API_URL says where the API is.
	Fake string

	// Args are given to the provider.
	Args []string
}

const (
	// fakeToken is what it asks for, unless the environment says otherwise.
	fakeToken = "let-me-in"

	// lookEvery is how often files are looked at.
	lookEvery = 300 * time.Millisecond
)

// A session is a run of the development environment.
type session struct {
	Options

	kubeconfig string
	cluster    *cluster

	server, fake, provider *child
}

// Run runs everything until ctx ends, which is no error. The folder cluster, below that
// of the provider, keeps the objects for the next time.
func Run(ctx context.Context, o Options) error {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return err
	}

	o.Dir, o.Out = dir, &locked{to: o.Out}
	s := &session{Options: o, kubeconfig: filepath.Join(dir, "cluster", "kubeconfig")}

	if s.server, err = s.startServer(ctx); err != nil {
		return ended(ctx, err)
	}
	defer s.server.stop()

	if s.fake, err = s.startFake(ctx); err != nil {
		return ended(ctx, err)
	}
	defer s.fake.stop()

	defer func() { s.provider.stop() }()

	return ended(ctx, s.follow(ctx))
}

// ended forgets an error that is due to the end that was asked for.
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
	s.say("building the API server, which takes minutes the first time")

	if err := s.run(ctx, "go", "build", "-o", "bin/devcluster-build", "github.com/moorage-dev/moorage/pkg/devcluster/build"); err != nil {
		return nil, err
	}

	build := s.command(ctx, filepath.Join(s.Dir, "bin", "devcluster-build"))
	build.Stdout = nil

	binary, err := build.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot build the API server: %w", err)
	}

	server, err := start(s.Out, s.Dir, "API server", nil, strings.TrimSpace(string(binary)), "serve", "--dir", "cluster")
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

// startFake starts the fake of the API, if the provider has one and nobody else is there
// already. A nil child is none.
func (s *session) startFake(ctx context.Context) (*child, error) {
	if _, err := os.Stat(filepath.Join(s.Dir, "cmd", "fake")); err != nil || os.Getenv("API_URL") != "" {
		return nil, nil
	}

	taken, err := net.Listen("tcp", s.Fake)
	if err != nil {
		return nil, fmt.Errorf("the fake of the API needs %s: end what is there, name another place by --fake, or say by $API_URL where the API is: %w", s.Fake, err)
	}

	_ = taken.Close()

	if err := s.run(ctx, "go", "build", "-o", "bin/fake", "./cmd/fake"); err != nil {
		return nil, err
	}

	fake, err := start(s.Out, s.Dir, "fake", s.env(), filepath.Join(s.Dir, "bin", "fake"), "--listen", s.Fake)
	if err != nil {
		return nil, err
	}

	err = fake.awaits(ctx, time.Minute, func() error {
		conn, err := net.DialTimeout("tcp", s.Fake, time.Second)
		if err != nil {
			return err
		}

		return conn.Close()
	})
	if err != nil {
		fake.stop()

		return nil, err
	}

	return fake, nil
}

// follow makes the provider, starts it, and does so again whenever a source changes. A
// provider that cannot be made is told, and the old one goes on. So is one that ends.
func (s *session) follow(ctx context.Context) error {
	examples := s.Examples

	for {
		was, err := look(s.Dir)
		if err != nil {
			return err
		}

		built := s.renew(ctx)
		if built != nil && ctx.Err() == nil {
			s.say("%v; it is tried again when a file changes", built)
		}

		ready, err := s.watch(ctx, was, examples && built == nil)
		if err != nil {
			return err
		}

		examples = examples && !ready

		s.say("a file changed")
	}
}

// watch waits until the sources are not as they were. Meanwhile it plays the examples, if
// that is asked for, and returns whether all of them were ready. It tells if the provider
// ends by itself, and fails if what it needs does.
func (s *session) watch(ctx context.Context, was uint64, examples bool) (ready bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	change, played := make(chan error, 1), make(chan error, 1)

	var started sync.WaitGroup
	defer started.Wait()
	defer stop()

	started.Go(func() { change <- changed(ctx, s.Dir, was, lookEvery) })

	playing := examples
	if playing {
		started.Go(func() { played <- s.play(ctx) })
	}

	provider := s.provider.ended()

	for {
		select {
		case err := <-change:
			stop()

			if playing {
				ready = <-played == nil // it may have been while the file was changed
			}

			return ready, err
		case err := <-played:
			playing = false

			if ready = err == nil; !ready && ctx.Err() == nil && !s.provider.hasEnded() {
				s.say("%v; the examples are tried again when a Go file changes", err)
			}
		case <-provider:
			provider = nil // it is told once

			s.say("%s; it is started again when a file changes", s.provider.how())
		case <-s.server.ended():
			return ready, errors.New(s.server.how() + ", and nothing goes without it")
		case <-s.fake.ended():
			return ready, errors.New(s.fake.how() + ", and the provider has nothing to work on")
		}
	}
}

// renew makes the provider and, if that succeeds, runs it instead of the old one.
func (s *session) renew(ctx context.Context) error {
	if err := s.run(ctx, "make", "generate"); err != nil {
		return err
	}

	if err := s.run(ctx, "go", "build", "-o", "bin/provider", "./cmd/provider"); err != nil {
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

	s.provider.stop()

	args := append([]string{"--poll", "5s", "--health-probe-bind-address", "0", "--metrics-bind-address", "0"}, s.Args...)

	s.provider, err = start(s.Out, s.Dir, "provider", s.env(), filepath.Join(s.Dir, "bin", "provider"), args...)
	if err != nil {
		return err
	}

	s.say("the provider runs; export KUBECONFIG=%s", s.kubeconfig)

	return nil
}

// settling is how long the API server may take until it serves a kind as it is now.
const settling = 3 * time.Minute

// applyExamples applies them. One that is refused is told, read again and tried again: after a
// kind has changed, it is served for a moment as it was.
func (s *session) applyExamples(ctx context.Context) (applied []object, err error) {
	told := ""

	err = s.provider.awaits(ctx, settling, func() error {
		objects, err := read(filepath.Join(s.Dir, "examples", "*.yaml"))
		if err == nil {
			err = s.cluster.apply(ctx, objects)
		}

		if err != nil && err.Error() != told && ctx.Err() == nil {
			told = err.Error()
			s.say("%v; it is tried again for %s", err, settling)
		}

		applied = objects

		return err
	})

	return applied, err
}

// play applies the examples and waits until each that can be ready is.
func (s *session) play(ctx context.Context) error {
	objects, err := s.applyExamples(ctx)
	if err != nil {
		return err
	}

	for _, o := range objects {
		if o.Kind == "Secret" || strings.HasSuffix(o.Kind, "ProviderConfig") {
			continue
		}

		if err := s.provider.awaits(ctx, 5*time.Minute, func() error {
			if !s.cluster.ready(ctx, o) {
				return errors.New("it is not ready")
			}

			return nil
		}); err != nil {
			return fmt.Errorf("waited in vain for the %s %s: %w", o.Kind, o.Metadata.Name, err)
		}

		s.say("the %s %s is Ready", o.Kind, o.Metadata.Name)
	}

	return nil
}

// env is the environment of the provider and of the fake. What is set already wins.
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

// command returns one with the flags that the Makefile of a provider has, so that
// nothing is compiled twice. With ctx ends all that it starts.
func (s *session) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.Dir, s.Out, s.Out, patience
	cmd.Cancel = func() error { return tell(cmd, syscall.SIGTERM) }
	tie(cmd)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")

	return cmd
}
