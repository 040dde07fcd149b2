package plan

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// silent returns the access to an API server that accepts connections and never answers.
func silent(t *testing.T, asked func()) *rest.Config {
	t.Helper()
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked()
		<-end
	}))
	t.Cleanup(func() { close(end); server.Close() })

	return &rest.Config{Host: server.URL}
}

// TestTimeout verifies that the flag --timeout and a signal end each part of the command, and that the error says what
// was waited for. Requests of a mapper have no context.
func TestTimeout(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	mapping := func(_ context.Context, m manager.Manager) error {
		_, err := m.GetRESTMapper().RESTMapping(schema.GroupKind{Group: "example.org", Kind: "Bucket"})

		return err
	}
	for name, c := range map[string]struct {
		config  func(*rest.Config) (*rest.Config, error)
		setup   func(context.Context, manager.Manager) error
		want    string
		signals bool // a signal ends the command, and not --timeout
	}{
		"set-up":        {setup: mapping, want: "--timeout of 3s is over: waited for the set-up of the kinds"},
		"set-up signal": {setup: mapping, signals: true, want: "interrupted: waited for the set-up of the kinds"},
		"credentials": {
			config: func(*rest.Config) (*rest.Config, error) { <-never; return nil, errors.New("unreachable") },
			want:   "--timeout of 3s is over: waited for the access to a cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			timeout := "3s"
			asked := func() {}
			if c.signals {
				timeout, asked = "1h", interrupt
			}
			cfg := silent(t, asked)
			var out, errs bytes.Buffer
			code := Run(ctx, []string{"--timeout", timeout}, &out, &errs, Provider{
				Name: "provider-x", Setup: c.setup,
				Config: func(string) (*rest.Config, error) {
					if c.config != nil {
						return c.config(cfg)
					}

					return cfg, nil
				},
				Manager: func([]string) manager.Options { return manager.Options{} },
			})
			if want := "provider-x plan: " + c.want + "\n"; code != ExitFailed || out.Len() > 0 || errs.String() != want {
				t.Errorf("exit code %d, want %q\n%s%s", code, want, out.String(), errs.String())
			}
		})
	}
}

// TestNamespaces verifies what becomes of a namespace that does not exist, or must not be read.
func TestNamespaces(t *testing.T) {
	namespaces := schema.GroupResource{Resource: "namespaces"}
	for name, c := range map[string]struct {
		answer error
		unread int
		want   string
	}{
		"exists":      {},
		"not found":   {answer: kerrors.NewNotFound(namespaces, "sea"), want: `the namespace "sea" does not exist`},
		"not allowed": {answer: kerrors.NewForbidden(namespaces, "sea", nil), unread: 1},
		"failed":      {answer: errors.New("boom"), want: `cannot read the namespace "sea": boom`},
	} {
		unread, err := checkNamespaces(t.Context(), answering{err: c.answer}, []string{"sea"})
		if len(unread) != c.unread || (err != nil) != (c.want != "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, unread, err)
		}
	}
}

// An answering reader answers each get with an error, or none.
type answering struct {
	reader

	err error
}

func (a answering) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return a.err
}
