// Package pgtest gives tests a real PostgreSQL server, and a network to it that can be broken. Start with [Start].
package pgtest

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/connect"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/postgres"
)

// Start starts a server that ends with the test. Where PostgreSQL is not installed, it fails the test if the
// variable CI is set. Otherwise it says on the standard error that the test is not run, and returns false: the test
// has to return.
func Start(t *testing.T) (*pgserver.Server, bool) {
	t.Helper()
	if _, err := pgserver.Programs(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		fmt.Fprintf(os.Stderr, "NOT RUN: %s: %v\n", t.Name(), err)

		return nil, false
	}
	s, err := pgserver.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		t.Logf("processor of the test process: %.2fs", processorTime().Seconds())
	})

	return s, true
}

// processorTime returns the time of the processor that this process has used, without the server.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}

	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Config returns the settings of the provider for a server, behind a proxy if there is one.
func Config(s *pgserver.Server, through *conformance.Proxy) postgres.Config {
	c := postgres.Config{
		Host: pgserver.Host, Port: s.Port, Database: "postgres",
		User: pgserver.Provider, Password: pgserver.Password, CA: s.CA,
	}
	if through != nil {
		c.Port = ProxyPort(through)
	}

	return c
}

// A Linker connects every object with the same server. Its Client is required.
type Linker struct {
	Client *postgres.Client

	// Secrets are those that the objects name.
	Secrets *Secrets

	// AllGrants are those that use the server. It may be nil.
	AllGrants func() []v1alpha1.Grant
}

// NewLinker returns a linker with these settings, which ends with the test.
func NewLinker(t *testing.T, c postgres.Config) Linker {
	t.Helper()
	client, err := postgres.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { go client.Close() }) // it waits for calls, and a call with a defect may never end

	return Linker{Client: client, Secrets: NewSecrets()}
}

// Link returns a connection for an object.
func (l Linker) Link(ctx context.Context, _ resource.Managed) (*connect.Link, error) {
	external.Conceal(ctx, []byte(l.Client.Config().Password))
	session, err := l.Client.Session(ctx)
	if err != nil {
		return nil, err
	}

	return &connect.Link{Session: session, Connection: managed.Connection{Name: "ProviderConfig/default/default"}}, nil
}

// Secret returns the Secret that an object names, or nil.
func (l Linker) Secret(ctx context.Context, mg resource.Managed, name string) (*corev1.Secret, error) {
	return l.Secrets.Secret(ctx, mg, name)
}

// Grants returns all Grants.
func (l Linker) Grants(context.Context, *v1alpha1.Grant) ([]v1alpha1.Grant, error) {
	if l.AllGrants == nil {
		return nil, nil
	}

	return l.AllGrants(), nil
}
