// Package tour shows the behavior of the provider, step by step, on real servers. Each step acts as a user
// or another client, waits until its claim is true, and reports the result, the time and the number of
// requests of the provider. The state is read from the API server and from NATS, never from the provider.
// Start with [New].
package tour

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/child"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// Options of a tour. The zero value is the tour of the demo.
type Options struct {
	// Out is where the tour is printed. Default: standard output.
	Out io.Writer

	// Namespace holds the objects. Default: default.
	Namespace string

	// Provider is the program of the provider, with the arguments before "run". Default: this program.
	Provider []string

	// Plugin is the program of kubectl moorage, which shows to a user what a step claims. Default: none, and nothing is
	// shown by it.
	Plugin string

	// Poll is how often the provider observes each stream. Default: 2 s.
	Poll time.Duration

	// Quiet is the time without a request after which the provider counts as quiet. Default: 300 ms.
	Quiet time.Duration

	// StepTimeout is how long a step waits for its claim. Default: 60 s.
	StepTimeout time.Duration

	// Interfere, if set, is called in each step before its action and, with done, after it. Tests make a check
	// fail with it.
	Interfere func(ctx context.Context, step string, done bool) error

	// Patience, if set, returns how long to wait for a claim; zero means the rest of the step. Tests shorten
	// it for claims that they have made false.
	Patience func(what string) time.Duration
}

// A Tour is one run through the steps. Use New, and Close at the end.
type Tour struct {
	o   Options
	env *devenv.Env
	nc  *nats.Conn
	js  jetstream.JetStream

	provider *child.Process
	page     statusLink // of the provider
	looks    looks

	eventsBefore map[string]bool // events about orders before the stream is changed
	madeAtKill   int             // streams of step "killed" that existed then
}

// New connects to the environment and starts the provider in it, as a process of its own.
func New(ctx context.Context, env *devenv.Env, o Options) (*Tour, error) {
	t := &Tour{o: withDefaults(o), env: env}
	if err := t.open(ctx); err != nil {
		t.Close()

		return nil, err
	}

	return t, nil
}

func withDefaults(o Options) Options {
	if o.Out == nil {
		o.Out = os.Stdout
	}

	if o.Namespace == "" {
		o.Namespace = devenv.Namespace
	}

	if o.Poll <= 0 {
		o.Poll = 2 * time.Second
	}

	if o.Quiet <= 0 {
		o.Quiet = 300 * time.Millisecond
	}

	if o.StepTimeout <= 0 {
		o.StepTimeout = time.Minute
	}

	if o.Interfere == nil {
		o.Interfere = func(context.Context, string, bool) error { return nil }
	}

	if o.Patience == nil {
		o.Patience = func(string) time.Duration { return 0 }
	}

	return o
}

func (t *Tour) open(ctx context.Context) error {
	var err error
	if t.nc, err = nats.Connect(t.env.NATS.URL(), nats.Name("tour"), nats.Timeout(t.o.StepTimeout)); err != nil {
		return errors.Wrap(err, "cannot connect to NATS")
	}

	if t.js, err = jetstream.New(t.nc); err != nil {
		return errors.Wrap(err, "cannot use JetStream")
	}

	// Every subscriber of its account receives the requests of the provider.
	if _, err = t.nc.Subscribe("$JS.API.STREAM.INFO.*", t.looks.note); err != nil {
		return errors.Wrap(err, "cannot listen to NATS")
	}

	if err := t.configure(ctx); err != nil {
		return err
	}

	t.provider, err = startProvider(t.o.Provider, t.env.ProviderKubeconfig, t.o.Poll, &t.page)

	return err
}

// configure creates a ProviderConfig in the namespace.
func (t *Tour) configure(ctx context.Context) error {
	err := t.env.Client.Create(ctx, &v1alpha1.ProviderConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.o.Namespace, Name: v1alpha1.DefaultProviderConfig},
		Spec: v1alpha1.ProviderConfigSpec{
			Servers: []string{t.env.NATS.URL()}, Credentials: v1alpha1.Credentials{Source: v1alpha1.CredentialsNone},
		},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}

	return errors.Wrap(err, "cannot create a ProviderConfig")
}

// Guided returns the tour in the common form of all demos.
func (t *Tour) Guided() *tour.Tour {
	guided := &tour.Tour{Out: t.o.Out}
	for _, s := range steps() {
		guided.Steps = append(guided.Steps, tour.Step{
			Name: s.name, Claim: s.title, Within: s.within, Show: func(ctx context.Context, r *tour.Report) error {
				err := t.take(ctx, s, r)
				if err != nil && ctx.Err() == nil {
					fmt.Fprintf(t.o.Out, "       The last output of the provider:\n%s", indent(t.provider.LastWords()))
				}

				return err
			},
		})
	}

	return guided
}

// Run runs the steps and reports each. It returns an error as soon as one does not hold, and that of ctx if
// that ends.
func (t *Tour) Run(ctx context.Context) error { return t.Guided().Run(ctx) }

func (t *Tour) take(ctx context.Context, s step, r *tour.Report) error {
	ctx, cancel := context.WithTimeout(ctx, t.o.StepTimeout)
	defer cancel()

	before, err := t.sent(ctx)
	if err != nil {
		return err
	}

	if err := t.act(ctx, s); err != nil {
		return err
	}

	happened, err := s.check(t, ctx)
	if err != nil {
		return err
	}

	shown, err := t.ask(ctx, s.shows)
	if err != nil {
		return err
	}

	if shown != "" {
		happened += "\n" + shown
	}

	after, err := t.sent(ctx)
	if err != nil {
		return err
	}

	sent := after.since(before)
	r.See("%s\nthe provider sent %s", happened, sent)

	if sent.objects > s.requests {
		return errors.Errorf("the provider sent %d requests for its objects, want at most %d", sent.objects, s.requests)
	}

	return nil
}

func (t *Tour) act(ctx context.Context, s step) error {
	if err := t.o.Interfere(ctx, s.name, false); err != nil {
		return err
	}

	if err := s.act(t, ctx); err != nil {
		return err
	}

	return t.o.Interfere(ctx, s.name, true)
}

// Provider returns a channel that is closed when the provider that the tour leaves running has ended.
func (t *Tour) Provider() <-chan struct{} { return t.provider.Done() }

// Close stops the provider.
func (t *Tour) Close() {
	if t.provider != nil {
		t.provider.Stop(stopTimeout)
	}

	if t.nc != nil {
		t.nc.Close()
	}
}

func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("       " + strings.TrimRight(line, "\n") + "\n")
	}

	return out.String()
}
