package managed_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The canary is a credential that must not be seen alive outside of its Secret.
const canary = "s3cr3t+canary/tr4p"

// Forms are texts with the canary in them. What is known of it differs: some look
// like what they are, some are only found because the canary is known, from
// Connect or from the connection details.
var forms = map[string]struct {
	text    string
	declare bool // by Connect
	details bool // it is the password that is observed
}{
	"url":       {"dial nats://admin:" + canary + "@example.org:4222: harmless", false, false},
	"key":       {"harmless refusal: password=" + canary, false, false},
	"header":    {"harmless GET: Authorization: Bearer " + canary, false, false},
	"document":  {`harmless {"user":"a","token":"` + canary + `"}`, false, false},
	"told":      {"harmless: the server says that " + canary + " is wrong", true, false},
	"escaped":   {"harmless GET /login?x=" + url.QueryEscape(canary), true, false},
	"packed":    {"harmless basic " + base64.StdEncoding.EncodeToString([]byte("admin:"+canary)), true, false},
	"quoted":    {fmt.Sprintf("harmless %q", "a\n"+canary), true, false},
	"shared":    {"harmless: the server says that " + canary + " is wrong", true, false},
	"published": {"harmless: who has " + canary + " may enter", false, true},
}

// A path is a way of a text from where it is made into the open.
type path struct {
	blind   bool // it comes before Connect and Observe, so that only earlier passes know the secret
	unseen  bool // it comes before Observe, or what is observed is not there
	fresh   bool // it begins with a new object; otherwise with one that is ready
	options func(say func() error) []managed.ReconcilerOption
	arrange func(g gallery, say func() error)
}

// saying returns a path of the error of a call.
func saying(call string, before func(gallery)) path {
	return path{fresh: before == nil, unseen: before == nil, arrange: func(g gallery, say func() error) {
		if before != nil {
			before(g)
		}
		g.cloud.Before = onCall(call, say)
	}}
}

// refusing returns a path of the error of a write.
func refusing(marker string, before func(gallery)) path {
	return path{fresh: before == nil, unseen: before == nil, arrange: func(g gallery, say func() error) {
		if before != nil {
			before(g)
		}
		g.answer = onWrite(marker, say)
	}}
}

// later returns a path through the error of a call in a pass after one that has observed the secret.
func later(call string) path {
	return path{arrange: func(g gallery, say func() error) {
		if _, err := g.try(); err != nil {
			g.Fatal(err)
		}
		g.cloud.Before = onCall(call, say)
	}}
}

func growing(g gallery) { g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 7 }) }

func with(o managed.ReconcilerOption) []managed.ReconcilerOption {
	return []managed.ReconcilerOption{o}
}

// observing returns a path that begins where a disk is observed.
func observing(wrap func(g gallery, say func() error, c managed.ExternalClient) managed.ExternalClient) path {
	return path{arrange: func(g gallery, say func() error) {
		inner := g.cloud.Connect
		g.o = append(g.o, managed.WithExternalConnecter(managed.ExternalConnectorFn(func(ctx context.Context,
			mg resource.Managed) (managed.ExternalClient, error) {
			declare(ctx, g)
			c, err := inner(ctx, mg)
			if err != nil {
				return nil, err
			}

			return wrap(g, say, c), nil
		})))
		g.restart()
	}}
}

// A talker changes what is observed.
type talker struct {
	managed.ExternalClient

	talk func(mg resource.Managed, o *managed.ExternalObservation)
}

func (c talker) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := c.ExternalClient.Observe(ctx, mg)
	c.talk(mg, &o)

	return o, err
}

func talking(talk func(mg resource.Managed, o *managed.ExternalObservation, text string)) path {
	return observing(func(_ gallery, say func() error, c managed.ExternalClient) managed.ExternalClient {
		return talker{c, func(mg resource.Managed, o *managed.ExternalObservation) {
			if err := say(); err != nil {
				talk(mg, o, err.Error())
			}
		}}
	})
}

var paths = map[string]path{
	"Connect": {
		fresh: true, unseen: true,
		arrange: func(g gallery, say func() error) { g.cloud.Before = onCall("Connect", say) },
	},
	"Observe": saying("Observe", nil),

	"ConnectLater": later("Connect"),
	"ObserveLater": later("Observe"),

	"Create": saying("Create", nil),
	"Update": saying("Update", growing),
	"Delete": saying("Delete", func(g gallery) { g.delete() }),
	"Terminal": {unseen: true, fresh: true, arrange: func(g gallery, say func() error) {
		g.cloud.Before = onCall("Observe", func() error { return external.Terminal("Broken", say()) })
	}},
	"NotCreated": {unseen: true, fresh: true, arrange: func(g gallery, say func() error) {
		g.cloud.Before = onCall("Create", func() error { return external.NotCreated(say()) })
	}},
	"Taken": {unseen: true, fresh: true, arrange: func(g gallery, say func() error) {
		g.cloud.Before = onCall("Create", func() error { return external.AlreadyExists(say()) })
	}},
	"Intent": refusing("external-create-pending", nil),
	"Status": refusing(`"status":{`, nil),
	"Claim": refusing(`"tier"`, func(g gallery) {
		for _, d := range g.cloud.Disks() {
			d.Tier = "gold"
			g.cloud.Put(d)
		}
	}),
	"LetGo": {unseen: true, arrange: func(g gallery, say func() error) {
		g.delete()
		g.answer = onWrite(`"finalizers":[]`, say)
	}},
	"Result": {fresh: true, unseen: true, options: func(say func() error) []managed.ReconcilerOption {
		return with(managed.WithCriticalAnnotationUpdater(managed.CriticalAnnotationUpdateFn(func(context.Context,
			client.Object) error {
			return say()
		})))
	}},
	"Initialize": {blind: true, options: func(say func() error) []managed.ReconcilerOption {
		return with(managed.WithInitializers(managed.InitializerFn(func(context.Context,
			resource.Managed) error {
			return say()
		})))
	}},
	"Resolve": {blind: true, options: func(say func() error) []managed.ReconcilerOption {
		return with(managed.WithReferenceResolver(managed.ReferenceResolverFn(func(context.Context,
			resource.Managed) error {
			return say()
		})))
	}},
	"Publish": {fresh: true, options: func(say func() error) []managed.ReconcilerOption {
		return with(managed.WithConnectionPublisher(managed.ConnectionPublisherFn(
			func(context.Context, resource.Managed, managed.ConnectionDetails) (bool, error) { return false, say() })))
	}},
	"Finalizer": {fresh: true, unseen: true, options: func(say func() error) []managed.ReconcilerOption {
		return with(managed.WithFinalizer(resource.FinalizerFns{AddFinalizerFn: func(context.Context,
			resource.Object) error {
			return say()
		}}))
	}},
	"Sink": {arrange: func(g gallery, _ func() error) { growing(g) },
		options: func(say func() error) []managed.ReconcilerOption {
			return with(managed.WithChangeLog(changelog.SinkFunc(func(context.Context,
				changelog.Entry) error {
				return say()
			})))
		}},
	"Panic of a sink": {arrange: func(g gallery, _ func() error) { growing(g) },
		options: func(say func() error) []managed.ReconcilerOption {
			return with(managed.WithChangeLog(changelog.SinkFunc(func(context.Context, changelog.Entry) error {
				if err := say(); err != nil {
					panic(err)
				}

				return nil
			})))
		}},
	"Diff": talking(func(_ resource.Managed, o *managed.ExternalObservation, text string) {
		o.ResourceUpToDate, o.Diff = false, text
	}),
	"Condition": talking(func(mg resource.Managed, _ *managed.ExternalObservation, text string) {
		mg.SetConditions(commonv1.Unavailable().WithMessage(text), commonv1.Condition{
			Type: "Encrypted", Status: "False", Reason: "No", Message: text,
		})
	}),
	"Disconnect": observing(func(_ gallery, say func() error, c managed.ExternalClient) managed.ExternalClient {
		return struct {
			managed.ExternalClient
			managed.ExternalDisconnecter
		}{c, managed.ExternalDisconnectorFn(func(context.Context) error { return say() })}
	}),
}

// declare registers the canary if the form of the test requires it: in each pass, or where the shared connection is
// made.
func declare(ctx context.Context, g gallery) {
	switch {
	case strings.Contains(g.Name(), "/shared/"):
		lease, err := g.shared.Acquire(ctx, "prod", "1",
			func(ctx context.Context) (string, func(context.Context) (string, error), error) {
				external.Conceal(ctx, []byte(canary))

				return "1", func(context.Context) (string, error) { return "", nil }, nil
			})
		g.Must(err)
		lease.Release()
	case strings.Contains(g.Name(), "/declared"):
		external.Conceal(ctx, []byte(canary))
	}
}

// TestNoCanaryComesThrough verifies that a secret that enters by any path, in any form, is redacted in all output.
func TestNoCanaryComesThrough(t *testing.T) {
	for way, p := range paths {
		for form, f := range forms {
			if p.blind && (f.declare || f.details) || p.unseen && f.details {
				continue // the secret cannot be known there
			}
			name := fmt.Sprintf("%s/%s", way, form)
			if f.declare {
				name += "/declared"
			}
			t.Run(name, func(t *testing.T) {
				seen := send(t, p, f.text, f.details)
				everything := strings.Join(seen, "\n")
				if !strings.Contains(everything, "harmless") {
					t.Error("the text came nowhere: the path leads nowhere")
				}
				for _, shape := range shapes() {
					for _, text := range seen {
						if i := strings.Index(text, shape); i >= 0 {
							t.Errorf("%q is seen in: %s", shape, text[max(0, i-100):min(len(text), i+100)])
						}
					}
				}
			})
		}
	}
}

// shapes are how the canary would look.
func shapes() []string {
	quoted, _ := json.Marshal(canary) // a string has a form
	packed := base64.StdEncoding.EncodeToString([]byte("admin:" + canary))

	return []string{canary, url.QueryEscape(canary), url.PathEscape(canary), strings.Trim(string(quoted), `"`),
		packed, packed[8:24], base64.StdEncoding.EncodeToString([]byte(canary))}
}

// send a text along a path, and return all that is seen.
func send(t *testing.T, p path, text string, details bool) []string {
	t.Helper()
	var log, changes bytes.Buffer
	armed := false
	say := func() error {
		if armed {
			return errors.New(text)
		}

		return nil
	}
	traces, registry := &spans{}, prometheus.NewRegistry()
	options := []managed.ReconcilerOption{
		managed.WithLogger(logging.NewLogrLogger(funcr.New(func(prefix, args string) {
			log.WriteString(prefix +
				args + "\n")
		}, funcr.Options{Verbosity: 10}))),
		managed.WithChangeLog(changelog.NewJSON(&changes)), managed.WithTracerProvider(traces),
		managed.WithMetricsRegisterer(registry),
		managed.WithCreationGracePeriod(0), managed.WithKstatusConditions(),
	}
	if p.options != nil {
		options = append(options, p.options(say)...)
	}
	g := newGallery(t, options...)
	g.shared = connection.New(func(string) {})
	t.Cleanup(g.shared.Close)
	connecter := managed.ExternalConnectorFn(func(ctx context.Context,
		mg resource.Managed) (managed.ExternalClient, error) {
		declare(ctx, g)

		return g.cloud.Connect(ctx, mg)
	})
	g.o = append(g.o, managed.WithExternalConnecter(connecter))
	g.restart()
	seen := lifeOf(g, p, say, &armed, details)
	traces.mu.Lock()
	defer traces.mu.Unlock()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen = append(seen, log.String(), changes.String(), fmt.Sprint(families), strings.Join(traces.texts, "\n"),
		strings.Join(traces.ended, "\n"))
	for _, r := range g.requests {
		if !strings.Contains(r, " secret ") { // where it belongs
			seen = append(seen, r)
		}
	}
	for _, e := range g.events {
		seen = append(seen, fmt.Sprintf("%+v", e))
	}

	return seen
}

// lifeOf leads the life of an object until the text was said for a few passes,
// and returns the errors and the object as it is then.
func lifeOf(g gallery, p path, say func() error, armed *bool, details bool) []string {
	g.Helper()
	g.create(secretNamed("login"))
	if !p.fresh {
		if _, err := g.try(); err != nil {
			g.Fatal(err)
		}
	}
	if details {
		for _, d := range g.cloud.Disks() {
			d.Password = canary
			g.cloud.Put(d)
		}
		if p.fresh {
			g.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
				if call == "Create" {
					g.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 1, Password: canary, Source: "vol-0"})
				}

				return nil
			}
		}
	}
	if p.arrange != nil {
		p.arrange(g, say)
	}
	*armed = true
	var seen []string
	for range 3 {
		_, err := g.try()
		seen = append(seen, fmt.Sprintf("%v\n%+v\n%#v\n%q", err, err, err, err))
		g.clock.SetTime(g.clock.Now().Add(time.Minute))
	}
	if !g.gone() {
		data, err := json.Marshal(g.get())
		g.Must(err)
		seen = append(seen, string(data))
	}

	return seen
}
