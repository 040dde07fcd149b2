package controller_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A port is the administrator's access to NATS, and the cable by which the provider is connected.
type port struct {
	*cable
	js jetstream.JetStream
}

// streamProbe observes streams whose names begin with a prefix.
type streamProbe struct {
	port
	prefix string
}

// List returns all such streams.
func (p streamProbe) List(ctx context.Context) ([]conformance.Resource, error) {
	var out []conformance.Resource

	streams := p.js.ListStreams(ctx)
	for info := range streams.Info() {
		id, ok := strings.CutPrefix(info.Config.Name, p.prefix)
		if !ok {
			continue
		}

		out = append(out, conformance.Resource{ID: id, State: map[string]string{
			"subjects": strings.Join(info.Config.Subjects, ","), "age": info.Config.MaxAge.String(),
			"storage": info.Config.Storage.String(), "owner": info.Config.Metadata[managed.StampKey],
		}})
	}

	return out, streams.Err()
}

// Remove deletes a stream.
func (p streamProbe) Remove(ctx context.Context, id string) error {
	err := p.js.DeleteStream(ctx, p.prefix+id)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}

	return err
}

// Make creates a stream, or what a client of NATS makes of it.
func (p streamProbe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	var err error

	name := meta.GetExternalName(mg)

	switch mg := mg.(type) {
	case *v1alpha1.Stream:
		_, err = p.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: mg.Spec.ForProvider.Subjects, Storage: jetstream.MemoryStorage,
		})
	case *v1alpha1.KeyValue:
		_, err = p.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, Storage: jetstream.MemoryStorage})
	case *v1alpha1.ObjectStore:
		_, err = p.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Storage: jetstream.MemoryStorage})
	}

	return name, err
}

// Drift lengthens the time that messages are kept.
func (p streamProbe) Drift(ctx context.Context, id string) error {
	s, err := p.js.Stream(ctx, p.prefix+id)
	if err != nil {
		return err
	}

	cfg := s.CachedInfo().Config
	cfg.MaxAge += time.Hour
	_, err = p.js.UpdateStream(ctx, cfg)

	return err
}

// consumerProbe observes the consumers of the stream "sales".
type consumerProbe struct{ port }

// List returns all consumers.
func (p consumerProbe) List(ctx context.Context) ([]conformance.Resource, error) {
	s, err := p.js.Stream(ctx, "sales")
	if err != nil {
		return nil, err
	}

	var out []conformance.Resource

	consumers := s.ListConsumers(ctx)
	for info := range consumers.Info() {
		out = append(out, conformance.Resource{ID: info.Name, State: map[string]string{
			"age": info.Config.AckWait.String(), "ackPolicy": info.Config.AckPolicy.String(),
			"owner": info.Config.Metadata[managed.StampKey],
		}})
	}

	return out, consumers.Err()
}

// Remove deletes a consumer.
func (p consumerProbe) Remove(ctx context.Context, id string) error {
	err := p.js.DeleteConsumer(ctx, "sales", id)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}

	return err
}

// Make creates a consumer.
func (p consumerProbe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	name := meta.GetExternalName(mg)
	_, err := p.js.CreateConsumer(ctx, "sales", jetstream.ConsumerConfig{
		Durable: name, AckPolicy: jetstream.AckExplicitPolicy,
	})

	return name, err
}

// Drift lengthens the time that a consumer waits.
func (p consumerProbe) Drift(ctx context.Context, id string) error {
	c, err := p.js.Consumer(ctx, "sales", id)
	if err != nil {
		return err
	}

	cfg := c.CachedInfo().Config
	cfg.AckWait += time.Hour
	_, err = p.js.UpdateConsumer(ctx, "sales", cfg)

	return err
}

func dial(t *testing.T, server string) *natsconn.Conn {
	t.Helper()

	pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{Servers: []string{server}}}
	settings, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(pc), nil)
	must(t, err)

	conn, err := natsconn.Dial(t.Context(), settings, nil)
	must(t, err)
	t.Cleanup(conn.Close)

	return conn
}

// A cable carries connections to a server until it is cut.
type cable struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	down  bool
	ends  map[net.Conn]bool
	group sync.WaitGroup
}

func newCable(t *testing.T, server string) *cable {
	t.Helper()

	u, err := url.Parse(server)
	must(t, err)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)

	c := &cable{listener: l, to: u.Host, ends: map[net.Conn]bool{}}
	c.group.Go(c.serve)
	t.Cleanup(func() {
		_ = l.Close()
		_, _ = c.Break(t.Context())

		c.group.Wait()
	})

	return c
}

func (c *cable) url() string { return "nats://" + c.listener.Addr().String() }

func (c *cable) serve() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}

		far, err := net.Dial("tcp", c.to)
		if err != nil || !c.join(near, far) {
			_ = near.Close()

			continue
		}

		c.group.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
		c.group.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
	}
}

func (c *cable) join(ends ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	for _, end := range ends {
		if c.down {
			_ = end.Close()
		}

		c.ends[end] = true
	}

	return !c.down
}

// Break cuts the cable.
func (c *cable) Break(context.Context) (func(context.Context) error, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.down = true
	for end := range c.ends {
		_ = end.Close()
	}

	clear(c.ends)

	return func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()

		c.down = false

		return nil
	}, nil
}
