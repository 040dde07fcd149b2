package serviceprovider

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/logging"
)

const canary = "hV7canary9QxL"

// errCanary quotes a credential in the middle of a sentence without a hint that it is one.
var errCanary = errors.New("nobody is let in by " + canary + " here")

// with returns a connection with a client and a configuration.
func (w *world) with(config *rest.Config) *clusters.Cluster {
	return clusters.NewTestClusterFromClient("with", w.API).WithRESTConfig(config)
}

// TestCredentialsAreRedacted verifies that credentials of the connections in an error of the domain
// are in none of the object, the event, the log and the returned error.
func TestCredentialsAreRedacted(t *testing.T) {
	token := &rest.Config{Host: "https://east.example", BearerToken: canary}
	fails := func(w *world) { w.domain.do = func(context.Context, *Foo) error { return errCanary } }
	cases := map[string]struct {
		reason string
		set    func(w *world)         // before the first pass
		then   func(w *world, f *Foo) // before the second pass
	}{
		"Worked":    {"an error of CreateOrUpdate", fails, nil},
		"Condition": {"a condition that the domain sets", func(w *world) { w.domain.err = errCanary }, nil},
		"Panic": {
			"a panic", func(w *world) { w.domain.do = func(context.Context, *Foo) error { panic(errCanary) } }, nil,
		},
		"Password": {"a password", func(w *world) {
			fails(w)
			w.gate.cluster = w.with(&rest.Config{Username: "admin", Password: canary})
		}, nil},
		"Onboarding": {"the connection to the onboarding cluster", func(w *world) {
			fails(w)
			w.home, w.gate.cluster = w.with(token), w.home
		}, nil},
		"Renewed": {"a token of the onboarding cluster that was renewed", func(w *world) {
			fails(w)
			w.home, w.gate.cluster = w.with(&rest.Config{BearerToken: "the-one-before"}).WithCredentials(func() [][]byte {
				return [][]byte{[]byte(canary)}
			}), w.home
		}, nil},
		"RenewedOfObject": {"a token of the object's own cluster that was renewed", func(w *world) {
			fails(w)
			w.gate.cluster = w.with(&rest.Config{BearerToken: "the-one-before"}).WithCredentials(func() [][]byte {
				return [][]byte{[]byte(canary)}
			})
		}, nil},
		"Concealed": {"what the domain says is secret", func(w *world) {
			w.gate.cluster = w.home
			w.domain.do = func(ctx context.Context, _ *Foo) error {
				external.Conceal(ctx, []byte(canary))

				return errCanary
			}
		}, nil},
		"Deleted": {"an error of Delete", nil, func(w *world, f *Foo) { fails(w); w.Delete(f) }},
		"Withdraw": {
			"an error of giving access back", nil,
			func(w *world, f *Foo) { w.gate.leaving, w.gate.deleteErr = true, errCanary; w.Delete(f) },
		},
		"Access": {
			"an error of the access provider, which has no connection to give any more", nil,
			func(w *world, _ *Foo) { w.gate.err = errCanary },
		},
		"Denied": {
			"a denial, which is reported in an event", nil,
			func(w *world, _ *Foo) { w.gate.err = errors.Wrap(ErrAccessDenied, errCanary.Error()) },
		},
		"Replaced": {"a client that the domain kept of the connection before this one", nil, func(w *world, _ *Foo) {
			fails(w)
			w.gate.cluster = w.with(&rest.Config{BearerToken: "another-token"})
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			w.gate.cluster = w.with(token)
			var texts []string
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
				b.Logger(logging.NewLogrLogger(funcr.New(func(_, args string) { texts = append(texts, args) },
					funcr.Options{})))
			}
			if tc.set != nil {
				tc.set(w)
			}
			f := w.create("foo")
			for _, change := range []func(*world, *Foo){func(*world, *Foo) {}, tc.then} {
				if change == nil {
					continue
				}
				change(w, f)
				e := w.run(f)
				texts = append(texts, append(e.Says, e.Event, e.Err)...)
			}
			text, err := json.Marshal(w.get(f).Status)
			w.Must(err)
			all := strings.Join(append(texts, string(text)), "\n")
			if strings.Contains(all, canary) || !strings.Contains(all, "nobody is let in by [REDACTED] here") {
				t.Errorf("%s: want it reported without the credential, got %s", tc.reason, all)
			}
		})
	}
}

// TestRedactedConditionsAreSteady verifies that an unchanged redacted condition is written once.
func TestRedactedConditionsAreSteady(t *testing.T) {
	w := newFakeWorld(t)
	w.gate.cluster = w.with(&rest.Config{BearerToken: canary})
	f := w.create("foo")
	w.domain.err = errCanary
	_, _ = w.pass(f)
	before := w.get(f).ResourceVersion
	_, _ = w.pass(f)
	if after := w.get(f).ResourceVersion; after != before {
		t.Errorf("the object went from %s to %s", before, after)
	}
}

// TestListErrorsAreRedacted verifies that logs outside of a pass contain no credentials of the
// shared clusters.
func TestListErrorsAreRedacted(t *testing.T) {
	w := newFakeWorld(t)
	var texts []string
	shaken := &flakyClient{Client: fake.NewClientBuilder().WithScheme(scheme).Build(), err: errCanary}
	w.home = clusters.NewTestClusterFromClient(
		"home", client.Client(shaken)).WithRESTConfig(&rest.Config{BearerToken: canary})
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.Logger(logging.NewLogrLogger(funcr.New(func(_, args string) { texts = append(texts, args) },
			funcr.Options{})))
	}
	w.restart()
	w.r.enqueueAll(t.Context())
	if all := strings.Join(texts, "\n"); strings.Contains(all, canary) ||
		!strings.Contains(all, "let in by [REDACTED]") {
		t.Errorf("got %s", all)
	}
}
